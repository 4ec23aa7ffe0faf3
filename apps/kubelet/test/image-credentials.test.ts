import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '@node-agent/async';
import { loadKubeletConfig } from '@node-agent/config';
import { nodeFileSystem } from '@node-agent/host';
import type { Pod } from '@node-agent/pod-spec';
import { noEvents, noMetrics, silentLogger } from '@node-agent/telemetry';
import { afterEach, expect, test } from 'vitest';
import { standaloneCredentials } from '../src/cluster/image-credentials.ts';

const directories: string[] = [];
afterEach(async () => {
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true });
});

const pod: Pod = { metadata: { name: 'web', namespace: 'default', uid: 'u' }, spec: { containers: [] } };
const { signal } = new AbortController();

async function credentials(more: (directory: string) => readonly string[]) {
  const directory = await mkdtemp('/tmp/na-credentials-');
  directories.push(directory);
  const argv = [`--root-dir=${directory}`, ...more(directory)];
  const { flags } = await loadKubeletConfig({ argv, fs: nodeFileSystem, workingDirectory: directory });
  const auths = { 'example.com': { username: 'docker', password: 'p' } };
  await writeFile(join(directory, 'config.json'), JSON.stringify({ auths }));
  const components = { fs: nodeFileSystem, clock: systemClock, logger: silentLogger };
  return {
    directory,
    make: () => standaloneCredentials({ ...components, metrics: noMetrics, recorder: noEvents }, flags),
  };
}

test('a node without an API server pulls with its docker configuration, then with credentials from plugins', async () => {
  const { directory, make } = await credentials((root) => [
    `--image-credential-provider-config=${root}/providers.yaml`,
    `--image-credential-provider-bin-dir=${root}/bin`,
  ]);
  await expect(make()).rejects.toMatchObject({ code: 'InvalidProviderConfig' });
  const apiVersion = 'credentialprovider.kubelet.k8s.io/v1';
  const provider = { name: 'p', apiVersion, matchImages: ['example.com'], defaultCacheDuration: '1m' };
  const config = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig', providers: [provider] };
  await writeFile(join(directory, 'providers.yaml'), JSON.stringify(config));
  const auth = { 'example.com': { username: 'plugin', password: 'p' } };
  const answer = { apiVersion, kind: 'CredentialProviderResponse', cacheKeyType: 'Registry', auth };
  await mkdir(join(directory, 'bin'));
  await writeFile(join(directory, 'bin/p'), `#!/bin/sh\ncat >/dev/null; echo '${JSON.stringify(answer)}'\n`);
  await chmod(join(directory, 'bin/p'), 0o755);
  const logins = await (await make()).lookup(pod, 'example.com/app:1', signal);
  expect(logins).toEqual([
    { username: 'docker', password: 'p' },
    { username: 'plugin', password: 'p' },
  ]);
});

test("images are pulled with the node's docker configuration only if no credential plugins are configured", async () => {
  const { make } = await credentials(() => []);
  expect(await (await make()).lookup(pod, 'example.com/app:1', signal)).toEqual([
    { username: 'docker', password: 'p' },
  ]);
});
