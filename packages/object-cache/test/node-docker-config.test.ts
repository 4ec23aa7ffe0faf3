import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { captureLogger } from '@node-agent/telemetry/testing';
import { beforeEach, expect, test } from 'vitest';
import { allCredentials, NodeDockerConfig } from '../src/node-docker-config.ts';
import { PullSecrets } from '../src/pull-secrets.ts';
import { pod } from './fixtures.ts';

const web = pod('web');
const { signal } = new AbortController();
const config = (username: string): string =>
  JSON.stringify({ auths: { 'example.com': { username, password: 'hunter2', email: 'e@x' } } });
let fs: MemoryFileSystem;
let clock: FakeClock;

beforeEach(async () => {
  clock = new FakeClock();
  fs = new MemoryFileSystem({ clock });
  for (const directory of ['/kubelet', '/work', '/home/.docker', '/.docker']) await fs.mkdir(directory);
});

function make() {
  const { logger, lines } = captureLogger();
  const directories = { rootDirectory: '/kubelet', workingDirectory: '/work', homeDirectory: '/home' };
  const node = new NodeDockerConfig({ fs, clock, logger }, directories);
  const users = async () => (await node.lookup(web, 'example.com/app')).map(({ username }) => username);
  return { node, lines, users };
}

test('the first valid Docker configuration of the node is used, the newer format before the older', async () => {
  const places = ['/.dockercfg', '/work/.dockercfg', '/.docker/config.json', '/home/.docker/config.json'];
  for (const place of [...places, '/work/config.json', '/kubelet/config.json']) {
    const text = place.endsWith('.dockercfg') ? JSON.stringify(JSON.parse(config(place)).auths) : config(place);
    await fs.writeFile(place, text);
    expect(await make().users()).toEqual([place]);
  }
  await fs.writeFile('/kubelet/config.json', '{"auths": hunter2');
  const { users, lines } = make();
  expect(await users()).toEqual(['/work/config.json']);
  expect(lines).toHaveLength(1);
  // W4
  expect(JSON.stringify(lines)).not.toContain('hunter2');
});

test("the node's logins apply to all pods, without data that registries do not need", async () => {
  await fs.writeFile('/kubelet/config.json', config('u'));
  const { node } = make();
  expect(await node.lookup(web, 'example.com/app')).toEqual([{ username: 'u', password: 'hunter2' }]);
  expect(await node.lookup(web, 'other.org/app')).toEqual([]);
});

test('a changed Docker configuration is used after five minutes', async () => {
  const { users } = make();
  expect(await users()).toEqual([]);
  await fs.writeFile('/kubelet/config.json', config('u'));
  await clock.advance(299_999);
  expect(await users()).toEqual([]);
  await clock.advance(1);
  expect(await users()).toEqual(['u']);
});

test("without an API server, a pod pulls with the node's logins in the order of their sources", async () => {
  const events: unknown[] = [];
  const recorder = { event: (_object: unknown, ...what: unknown[]) => void events.push(what) };
  const of = (username: string) => ({ lookup: async () => [{ username, password: 'p' }] });
  const { logger } = captureLogger();
  const pulls = new PullSecrets({ recorder, logger, node: allCredentials(of('one'), of('two')) });
  const asking = pod('web', { imagePullSecrets: [{ name: 's' }] });
  expect((await pulls.lookup(asking, 'app:1', signal)).map(({ username }) => username)).toEqual(['one', 'two']);
  expect(events).toMatchObject(
    [['Warning', 'FailedToRetrieveImagePullSecret', /pull secrets \(s\)/]].map(([a, b]) => [a, b, expect.any(String)]),
  );
});
