import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, lstat, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AdminServer, type AdminServerComponents, inventoryEndpoints, ServerError } from '../src/index.ts';
import { privateDirectoryProblem, socketPathProblem } from '../src/listen/socket-file.ts';

let directory: string;
let path: string;
const ends: (() => Promise<void>)[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'admin-'));
  path = join(directory, 'run/admin.sock');
});

afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  await rm(directory, { recursive: true });
});

/** Starts a server and resolves when it listens. */
async function start(components: Partial<AdminServerComponents> = {}): Promise<{ end(): Promise<void> }> {
  const controller = new AbortController();
  const listening = Promise.withResolvers<void>();
  const server = new AdminServer({ endpoints: {}, ...components }, { path, onListening: () => listening.resolve() });
  const ended = server.start(controller.signal);
  ended.catch(listening.reject);
  await listening.promise;
  const end = async (): Promise<void> => {
    controller.abort(new Error('the test ends'));
    await ended;
  };
  ends.push(end);
  return { end };
}

function ask(target: string, headers: Record<string, string> = {}): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: path, path: target, headers }, async (response) => {
      let body = '';
      for await (const chunk of response) body += chunk;
      resolve({ status: response.statusCode ?? 0, body });
    });
    asked.on('error', reject);
    asked.end();
  });
}

describe('the file of the admin socket', () => {
  it('W1: the admin socket has mode 0600, and is in a directory of mode 0700', async () => {
    await start();
    expect([(await lstat(path)).mode & 0o777, (await lstat(join(directory, 'run'))).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
  });

  it('W1: the admin socket is not created in a directory that others may enter, and that directory keeps its mode', async () => {
    await mkdir(join(directory, 'run'));
    await chmod(join(directory, 'run'), 0o750);
    await expect(start()).rejects.toThrow(`cannot listen on ${path}: the directory ${directory}/run has the mode 0750`);
    expect((await lstat(join(directory, 'run'))).mode & 0o777).toBe(0o750);
  });

  it('W1: the admin socket is not created behind a symlink', async () => {
    await mkdir(join(directory, 'real'), { mode: 0o700 });
    await symlink('real', join(directory, 'run'));
    await expect(start()).rejects.toThrow('is not a directory');
  });

  it('replaces the socket of a process that was killed', async () => {
    await mkdir(join(directory, 'run'), { mode: 0o700 });
    const left = createNetServer().listen(path);
    await new Promise((resolve) => left.once('listening', resolve));
    // The socket is renamed before the server closes, because closing removes the path on which the server listened.
    await rename(path, `${path}.kept`);
    await new Promise((resolve) => left.close(resolve));
    await rename(`${path}.kept`, path);
    await start({ endpoints: { pods: () => ({ status: 200, headers: {}, body: 'new' }) } });
    expect(await ask('/pods')).toEqual({ status: 200, body: 'new' });
  });

  it('the admin socket is not taken from a process that serves it', async () => {
    await start();
    await expect(start()).rejects.toMatchObject({
      code: 'ListenFailed',
      message: `cannot listen on ${path}: another process serves this socket`,
    });
    expect((await ask('/pods')).status).toBe(404);
  });

  it('the admin socket is not taken from a process that listens but accepts no connection, with a full queue', async () => {
    await mkdir(join(directory, 'run'), { mode: 0o700 });
    // This process blocks its event loop: the kernel queues connections until the backlog is full and then answers
    // EAGAIN.
    const program = `require('node:net').createServer().listen({ path: process.argv[1], backlog: 1 }, () => {
      require('node:fs').writeSync(1, 'listening');
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
    })`;
    const busy = spawn(process.execPath, ['-e', program, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = once(busy, 'exit');
    ends.push(async () => {
      busy.kill('SIGKILL');
      await exited;
    });
    await once(busy.stdout, 'data');
    const codes: unknown[] = [];
    while (!codes.includes('EAGAIN')) {
      // Queued connections are reset when the process ends.
      const socket = connect(path).on('error', () => {});
      ends.push(async () => void socket.destroy());
      await once(socket, 'connect').catch((error: NodeJS.ErrnoException) => codes.push(error.code));
    }
    await expect(start()).rejects.toThrow('another process serves this socket');
    expect((await lstat(path)).isSocket()).toBe(true);
  });

  it('does not replace a file that is not a socket', async () => {
    await mkdir(join(directory, 'run'), { mode: 0o700 });
    await writeFile(path, 'precious');
    await expect(start()).rejects.toThrow('the path is a file that is not a socket');
  });

  it('the admin socket is removed when the server stops', async () => {
    const { end } = await start();
    await end();
    await expect(lstat(path)).rejects.toThrow('ENOENT');
  });

  it.each([
    ['run/admin.sock', 'must be an absolute path'],
    ['/run/\0', 'must be an absolute path'],
    ['/run/', 'must name a file, not a directory'],
    [`/run/${'x'.repeat(120)}`, 'must have at most 107 bytes, not 125'],
  ])('rejects the socket path %j, because it %s', (given, problem) => {
    expect(socketPathProblem(given)).toBe(problem);
    const make = () => new AdminServer({ endpoints: {} }, { path: given });
    expect(make).toThrow(ServerError);
    expect(make).toThrow(problem);
  });

  it.each([
    [{ mode: 0o40700, uid: 0 }, undefined],
    [{ mode: 0o40500, uid: 0 }, undefined],
    [{ mode: 0o40701, uid: 0 }, 'has the mode 0701, not 0700'],
    [{ mode: 0o41777, uid: 0 }, 'has the mode 0777, not 0700'],
    [{ mode: 0o40700, uid: 7 }, 'belongs to the user 7, not to 0'],
  ])('the socket directory %j has the problem: %s', (found, problem) => {
    expect(privateDirectoryProblem({ ...found, isDirectory: () => true }, 0)).toBe(problem);
  });
});

describe('requests on the admin socket', () => {
  it('requests on the admin socket come from root, whatever credentials they show', async () => {
    const users: unknown[] = [];
    await start({
      endpoints: {
        pods: ({ user, remoteAddress }) => {
          users.push([user.name, user.groups, remoteAddress]);
          return { status: 200, headers: {}, body: '' };
        },
      },
    });
    await ask('/pods');
    await ask('/pods', { authorization: 'Bearer other' });
    const root = ['root', ['system:masters', 'system:authenticated'], 'unix'];
    expect(users).toEqual([root, root]);
  });

  it('upgrade requests on the admin socket reach the upgrade handlers', async () => {
    await start({
      upgrades: {
        exec: async ({ connection, params }) => {
          connection.end(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n${params.pod}`);
          return undefined;
        },
      },
    });
    const text = await new Promise<string>((resolve, reject) => {
      const headers = { connection: 'Upgrade', upgrade: 'x' };
      const asked = request({ socketPath: path, path: '/exec/default/web/main', method: 'POST', headers });
      asked.on('upgrade', async (_response, socket, head) => {
        let all = head.toString();
        for await (const chunk of socket) all += chunk;
        resolve(all);
      });
      asked.on('error', reject).end();
    });
    expect(text).toBe('web');
  });

  it('requests on the admin socket are answered with 404 for paths without a handler', async () => {
    await start({ endpoints: { pods: () => ({ status: 200, headers: {}, body: '' }) } });
    expect(await ask('/nothing')).toEqual({ status: 404, body: '404 page not found\n' });
    expect(await ask('/debug/node')).toEqual({ status: 404, body: '404 page not found\n' });
  });

  it('W2: a stream on the admin socket ends when the server stops', async () => {
    const { end } = await start({
      endpoints: {
        pods: ({ signal }) => ({
          ...{ status: 200, headers: {} },
          stream: (async function* () {
            yield Buffer.from('begun');
            await new Promise((resolve) => signal.addEventListener('abort', resolve));
          })(),
        }),
      },
    });
    const begun = Promise.withResolvers<void>();
    const over = new Promise((resolve) => {
      request({ socketPath: path, path: '/pods' }, (response) => {
        response.on('data', () => begun.resolve()).on('close', resolve);
        response.on('error', () => {});
      }).end();
    });
    await begun.promise;
    await end();
    await over;
  });
});

describe('inventory endpoints', () => {
  const endpoints = inventoryEndpoints({
    events: () => [
      {
        object: { kind: 'Pod', namespace: 'default', name: 'web' },
        ...{ type: 'Warning', reason: 'BackOff', message: 'm', count: 3, firstAtMs: 0, lastAtMs: 9_999 },
      },
      {
        object: { kind: 'Node', name: 'n1' },
        ...{ type: 'Normal', reason: 'Starting', message: 's', count: 1, firstAtMs: 1_000, lastAtMs: 1_000 },
      },
    ],
    images: async () => [
      { id: 'a', repoTags: [], repoDigests: [], sizeBytes: 1, pinned: false },
      { id: 'b', repoTags: ['b:1'], repoDigests: [], sizeBytes: 2, pinned: true },
    ],
    node: async () => ({ kind: 'Node' }),
  });

  it('/debug/events serves the events of all objects, ordered by their last occurrence', async () => {
    await start({ endpoints });
    const { items } = JSON.parse((await ask('/debug/events')).body);
    expect(items).toMatchObject([
      { involvedObject: { kind: 'Node', name: 'n1' }, reason: 'Starting', lastTimestamp: '1970-01-01T00:00:01Z' },
      { involvedObject: { name: 'web' }, count: 3, type: 'Warning', lastTimestamp: '1970-01-01T00:00:09Z' },
    ]);
  });

  it('/debug/images serves the images, the largest first, and /debug/node serves the node', async () => {
    await start({ endpoints });
    expect(JSON.parse((await ask('/debug/images')).body).images.map(({ id }: { id: string }) => id)).toEqual([
      'b',
      'a',
    ]);
    expect(await ask('/debug/node')).toEqual({ status: 200, body: '{"kind":"Node"}\n' });
  });
});
