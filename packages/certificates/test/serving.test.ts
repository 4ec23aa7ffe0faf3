import { createPrivateKey } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type Server } from 'node:tls';
import { systemClock } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { nodeFileSystem } from '@node-agent/host';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { silentLogger } from '@node-agent/telemetry';
import { captureLogger } from '@node-agent/telemetry/testing';
import { afterEach, describe, expect, test } from 'vitest';
import type { CertificatePair } from '../src/certificate-pair.ts';
import { SelfSignedFiles } from '../src/self-signed-files.ts';
import { serveWith } from '../src/serving-certificate.ts';
import { ServingCertificateFiles } from '../src/serving-files.ts';
import { nodeSubject } from '../src/subject.ts';
import { DAY_MS, makePair } from './fixtures.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A TLS server on the loopback that echoes. */
async function tlsServer(): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => void socket.pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return { server, port: (server.address() as AddressInfo).port };
}

async function dial(port: number) {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  closing.push(() => socket.destroy());
  await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
  const echo = async (text: string): Promise<string> => {
    socket.write(text);
    return await new Promise((resolve) => socket.once('data', (data) => resolve(data.toString())));
  };
  return { name: socket.getPeerCertificate().subject.CN, echo };
}

class Source {
  current: CertificatePair | undefined;
  readonly #listeners = new Set<(pair: CertificatePair) => void>();
  onChange(listener: (pair: CertificatePair) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
  use(pair: CertificatePair): void {
    this.current = pair;
    for (const listener of this.#listeners) listener(pair);
  }
}

describe('a TLS server with a changing certificate', () => {
  test('a TLS server uses each new certificate from the next handshake on, and open connections continue', async () => {
    const { server, port } = await tlsServer();
    const source = new Source();
    const stop = serveWith(server, source, { minVersion: 'TLSv1.2' });
    await expect(dial(port)).rejects.toThrow();
    source.use(makePair({ subject: nodeSubject('first') }));
    const old = await dial(port);
    expect(old.name).toBe('system:node:first');
    source.use(makePair({ subject: nodeSubject('second') }));
    expect((await dial(port)).name).toBe('system:node:second');
    expect(await old.echo('still here')).toBe('still here');
    stop();
    source.use(makePair({ subject: nodeSubject('third') }));
    expect((await dial(port)).name).toBe('system:node:second');
  });

  test('a TLS server uses the certificate that exists when it is set up', async () => {
    const { server, port } = await tlsServer();
    const source = new Source();
    source.use(makePair({ subject: nodeSubject('first') }));
    serveWith(server, source);
    expect((await dial(port)).name).toBe('system:node:first');
  });
});

const files = { certFile: '/tls/tls.crt', keyFile: '/tls/tls.key' };

async function fileWorld() {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  await fs.mkdir('/tls');
  const write = async (pair: CertificatePair): Promise<void> => {
    await fs.writeFile(files.certFile, pair.cert);
    await fs.writeFile(files.keyFile, pair.key);
  };
  const { logger, lines } = captureLogger();
  const certificate = new ServingCertificateFiles({ fs, clock, logger }, files);
  const run = (): void => {
    const controller = new AbortController();
    const ended = certificate.start(controller.signal);
    closing.push(async () => {
      controller.abort(new Error('the test has ended'));
      await ended;
      expect(fs.openWatches).toBe(0);
    });
  };
  return { clock, fs, write, lines, certificate, run };
}

describe('a serving certificate in files', () => {
  test('reloads a certificate from its files immediately when they change', async () => {
    const { clock, write, certificate, run } = await fileWorld();
    const [first, second] = [makePair(), makePair()];
    await write(first);
    await certificate.load();
    expect(certificate.current).toEqual(first);
    run();
    await clock.settle();
    const changes: CertificatePair[] = [];
    certificate.onChange((pair) => changes.push(pair));
    await write(second);
    await clock.settle();
    expect(changes).toEqual([second]);
  });

  test('keeps the loaded certificate while its files are missing or certificate and key do not match, and logs that once', async () => {
    const { clock, fs, write, lines, certificate, run } = await fileWorld();
    const [first, second] = [makePair(), makePair()];
    await write(first);
    run();
    await clock.settle();
    await fs.writeFile(files.certFile, second.cert);
    await clock.advance(300_000);
    expect(certificate.current).toEqual(first);
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1);
    await fs.removeAll('/tls');
    await clock.advance(300_000);
    expect(certificate.current).toEqual(first);
    await fs.mkdir('/tls');
    await write(second);
    await clock.advance(60_000);
    expect(certificate.current).toEqual(second);
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(2);
  });

  test('load fails if the certificate files do not exist', async () => {
    const { certificate } = await fileWorld();
    await expect(certificate.load()).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('detects changed certificate files on a real file system', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'certificates-'));
    closing.push(() => rm(directory, { recursive: true }));
    const real = { certFile: join(directory, 'a.crt'), keyFile: join(directory, 'a.key') };
    const components = { fs: nodeFileSystem, clock: systemClock, logger: silentLogger };
    const certificate = new ServingCertificateFiles(components, real);
    const [first, second] = [makePair(), makePair()];
    await nodeFileSystem.writeFileAtomic(real.certFile, first.cert);
    await nodeFileSystem.writeFileAtomic(real.keyFile, first.key);
    const controller = new AbortController();
    const changed = new Promise<CertificatePair>((resolve) => {
      certificate.onChange((pair) => (pair.cert === second.cert ? resolve(pair) : undefined));
    });
    const ended = certificate.start(controller.signal);
    await nodeFileSystem.writeFileAtomic(real.certFile, second.cert);
    await nodeFileSystem.writeFileAtomic(real.keyFile, second.key);
    expect(await changed).toEqual(second);
    controller.abort(new Error('the test has ended'));
    await ended;
  });
});

function selfSigned(host = 'n1') {
  const clock = new FakeClock();
  const fs = new MemoryFileSystem({ clock });
  const made = new SelfSignedFiles({ fs, clock, logger: silentLogger }, { directory: '/pki', host });
  const load = async (): Promise<CertificatePair | undefined> => {
    const certificate = new ServingCertificateFiles({ fs, clock, logger: silentLogger }, made.files);
    await certificate.load();
    return certificate.current;
  };
  return { clock, fs, made, load };
}

describe('a self-signed certificate', () => {
  test.each([
    ['n1', { dnsNames: ['n1'], ipAddresses: [] }],
    ['fd00::1', { dnsNames: [], ipAddresses: ['fd00::1'] }],
  ])('a self-signed certificate for %s is valid for a year, and its key file has mode 0600', async (host, names) => {
    const { clock, fs, made, load } = selfSigned(host);
    await made.ensure();
    const pair = await load();
    expect(pair?.leaf).toMatchObject({ commonName: `${host}@${clock.now() / 1000}`, ...names });
    expect(pair?.leaf.notBeforeMs).toBe(clock.now() - 3_600_000);
    expect(pair?.leaf.notAfterMs).toBe(clock.now() - 3_600_000 + 365 * DAY_MS);
    expect((await fs.stat('/pki/kubelet.key')).mode).toBe(0o600);
    await made.ensure();
    expect((await load())?.cert).toBe(pair?.cert);
  });

  test('renews a self-signed certificate before it expires, with the same key', async () => {
    const { clock, made, load } = selfSigned();
    await made.ensure();
    const first = await load();
    const controller = new AbortController();
    const ended = made.start(controller.signal);
    await clock.advance(290 * DAY_MS);
    expect((await load())?.cert).toBe(first?.cert);
    await clock.advance(5 * DAY_MS);
    const second = await load();
    expect(second?.cert).not.toBe(first?.cert);
    expect(second?.key).toBe(first?.key);
    controller.abort(new Error('the test has ended'));
    await ended;
  });

  test('keeps a certificate that the kubelet did not create, even if it has expired', async () => {
    const { clock, fs, made, load } = selfSigned();
    const pair = makePair();
    await fs.mkdir('/pki');
    await fs.writeFile('/pki/kubelet.crt', pair.cert);
    await fs.writeFile('/pki/kubelet.key', pair.key);
    await clock.advance(2 * DAY_MS);
    await made.ensure();
    expect(await load()).toEqual(pair);
  });

  test('K1: creates the missing certificate for a key that a killed kubelet has written', async () => {
    const { fs, made, load } = selfSigned();
    fs.injectFault({ code: 'EIO', operation: 'open', skip: 1 });
    await expect(made.ensure()).rejects.toMatchObject({ code: 'EIO' });
    const key = Buffer.from(await fs.readFile('/pki/kubelet.key')).toString();
    await made.ensure();
    expect(createPrivateKey((await load())?.key ?? '').equals(createPrivateKey(key))).toBe(true);
  });

  test.each([
    ['a certificate without its key', { '/pki/kubelet.crt': makePair().cert }, /kubelet\.crt exists without its key/],
    [
      'a certificate and a key that do not match',
      { '/pki/kubelet.crt': makePair().cert, '/pki/kubelet.key': makePair().key },
      /kubelet\.crt and \/pki\/kubelet\.key cannot be used: (?!Error)/,
    ],
    ['an invalid key', { '/pki/kubelet.key': 'half of a' }, /kubelet\.key cannot be parsed/],
  ])('refuses to overwrite %s in the certificate directory', async (_name, contents, message) => {
    const { fs, made } = selfSigned();
    await fs.mkdir('/pki');
    for (const [path, text] of Object.entries(contents)) await fs.writeFile(path, text);
    await expect(made.ensure()).rejects.toThrow(message);
  });
});
