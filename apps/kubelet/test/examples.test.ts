import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadKubeletConfig } from '@node-agent/config';
import { nodeFileSystem } from '@node-agent/host';
import { FileSource } from '@node-agent/pod-config';
import { captureLogger } from '@node-agent/telemetry/testing';
import { describe, expect, it } from 'vitest';

const examples = fileURLToPath(new URL('../../../examples', import.meta.url));
const configurations = ['node/kubelet.yaml', 'node/standalone.yaml'];
const manifests = (await readdir(join(examples, 'manifests'))).filter((name) => name.endsWith('.yaml'));

describe('the files in examples', () => {
  it.each(configurations)('the example configuration %s loads without a warning', async (name) => {
    const argv = ['--config', join(examples, name)];
    const { warnings } = await loadKubeletConfig({ argv, fs: nodeFileSystem, workingDirectory: '/', cgroupVersion: 2 });
    expect(warnings).toEqual([]);
  });

  it('every example manifest is read as a pod without a problem', async () => {
    const { logger, lines } = captureLogger();
    const controller = new AbortController();
    const pods = await new Promise<readonly string[]>((resolve) => {
      const source = new FileSource(
        { fs: nodeFileSystem, logger, set: (found) => resolve(found.map(({ metadata }) => metadata.name)) },
        { path: join(examples, 'manifests'), nodeName: 'n1' },
      );
      void source.start(controller.signal);
    });
    controller.abort();
    expect([...pods].sort()).toEqual(manifests.map((name) => `${name.replace('.yaml', '')}-n1`));
    expect(lines.filter(({ level }) => level !== 'info')).toEqual([]);
  });

  it('the example systemd unit uses notify, the watchdog, and pods that outlive the kubelet', async () => {
    const unit = await readFile(join(examples, 'node/kubelet.service'), 'utf8');
    for (const line of ['Type=notify', 'WatchdogSec=30s', 'KillMode=process']) expect(unit.split('\n')).toContain(line);
  });
});
