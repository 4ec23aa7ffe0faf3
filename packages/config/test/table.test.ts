import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { configurationPage } from '../scripts/page-text.ts';
import { generatedTypes } from '../scripts/type-text.ts';
import { DEFAULT_EVICTION_HARD } from '../src/defaults.ts';
import { mirrorFlags } from '../src/flags/command-line.ts';
import { kubeletFlags } from '../src/flags/kubelet-flags.ts';
import { defaultConfiguration, helpText, renderConfiguration } from '../src/index.ts';
import type { Json } from '../src/schema/field.ts';
import { configurationFields } from '../src/schema/kubelet-configuration.ts';
import { upstreamDefaults, upstreamFields, upstreamFlags } from './upstream.ts';

const read = (path: string): string => readFileSync(`${import.meta.dirname}/../${path}`, 'utf8');

/** Returns the leaf values of a tree, with their paths. */
function leaves(value: Json, path = ''): [string, Json][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, `${path}/${key}`));
}

describe('the table of fields', () => {
  it('the schema has every field of KubeletConfiguration v1beta1 once, and no other', () => {
    expect(configurationFields.map((line) => line.name).sort()).toEqual([...upstreamFields].sort());
  });

  const ours = new Map(leaves(renderConfiguration(defaultConfiguration()) as Json));

  it.each(leaves(upstreamDefaults))("the field %s has upstream's default %j", (path, value) => {
    expect(ours.get(path)).toEqual(value);
  });

  it('fields without an upstream default have their zero value', () => {
    const known = new Set(leaves(upstreamDefaults).map(([path]) => path));
    const rest = [...ours].filter(([path]) => !known.has(path) && !/^.(apiVersion|kind|evictionHard)/.test(path));
    expect(rest.filter(([, value]) => !['', 0, false, '0'].includes(value as never) && !Array.isArray(value))).toEqual(
      [],
    );
    expect(rest.filter(([, value]) => Array.isArray(value) && value.length > 0)).toEqual([]);
  });

  it("the default hard eviction thresholds are upstream's", () => {
    expect(defaultConfiguration().evictionHard).toEqual({
      'memory.available': '100Mi',
      'nodefs.available': '10%',
      'nodefs.inodesFree': '5%',
      'imagefs.available': '15%',
      'imagefs.inodesFree': '5%',
    });
    expect(DEFAULT_EVICTION_HARD).toEqual(defaultConfiguration().evictionHard);
  });

  it('every field is documented by a sentence', () => {
    for (const line of configurationFields) expect(line.doc, line.name).toMatch(/^[A-Za-z].{8,}\.$/s);
  });
});

describe('the table of flags', () => {
  const shown = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.join(',')}]`;
    return typeof value === 'object' && value !== null ? '' : String(value ?? '');
  };
  const own = kubeletFlags.map((flag) => [flag.name, flag.default, flag.deprecated !== undefined] as const);
  const mirrors = mirrorFlags.map(
    ({ flag, field }) => [flag.name, shown(field.default), flag.deprecated !== false] as const,
  );
  const lines = [...own, ...mirrors].map(([name, value, deprecated]) =>
    `${deprecated ? '*' : ''}${name} ${value}`.trim(),
  );
  // These four flags have another default without a configuration file. FLAG_DEFAULTS contains three of these flags;
  // the default of the fourth flag, the read-only port, stays 0.
  const differing = ['*anonymous-auth', '*authentication-token-webhook', '*authorization-mode', '*read-only-port'];
  const withoutDefault = ['*reserved-memory', '*register-with-taints', 'vmodule', '*allowed-unsafe-sysctls'];

  /** Flags that the Go kubelet does not have. */
  const additional = ['admin-socket', 'all false', 'dashboard false', 'dashboard-port 0', 'strict-config false'];

  it('every flag of upstream exists with its default and deprecation, and five flags of this kubelet', () => {
    const plain = (line: string): string => {
      const [name = ''] = line.split(' ');
      return [...differing, ...withoutDefault].includes(name) ? name : line;
    };
    expect(lines.map(plain).sort()).toEqual([...upstreamFlags.map(plain), ...additional].sort());
  });

  it('--help --all prints every flag', () => {
    const help = helpText({ all: true });
    for (const line of upstreamFlags) expect(help).toContain(`--${line.replace('*', '').split(' ')[0]}`);
    expect(help).toContain('-v, --v uint32');
    expect(help).toContain('-h, --help');
    expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(120);
  });
});

describe('--help', () => {
  const full = helpText({ all: true });
  const lines = full.split('\n');
  const entriesOf = (text: string): readonly string[] =>
    text.split(/^(?= {2}(?:-| {4}--))|^(?=\n|kubelet)/m).filter((entry) => /^ {2}(?:-| {4}--)/.test(entry));
  const entries = entriesOf(full);
  const namesOf = (text: string): readonly (string | undefined)[] =>
    entriesOf(text).map((entry) => /--([\w-]+)/.exec(entry)?.[1]);
  const all = [
    ...kubeletFlags.map(({ name, deprecated }) => ({ name, isDeprecated: deprecated !== undefined })),
    ...mirrorFlags.map(({ flag }) => ({ name: flag.name, isDeprecated: flag.deprecated !== false })),
  ];

  it('--help begins with a description of the kubelet and groups flags by topic', () => {
    expect(lines[0]).toMatch(/^The kubelet is the agent of a node/);
    expect(helpText()).toContain(
      '\n\nUsage:\n  kubelet [flags]\n  kubelet completion bash|zsh|fish\n  kubelet cluster [up|down] [flags]\n\nConfiguration:\n      --config string\n',
    );
    expect(helpText().match(/^\S.*:$/gm)).toEqual([
      'Usage:',
      'Configuration:',
      'Cluster:',
      'Node:',
      'Images and runtime:',
      'Log:',
      'Other:',
    ]);
    expect(full).toMatch(/[^\n]\n$/);
    expect(full).not.toMatch(/undefined|object/);
  });

  it('--help lists each flag that is not deprecated once, and the number of flags that --all adds', () => {
    const current = all.filter(({ isDeprecated }) => !isDeprecated).map(({ name }) => name);
    expect([...namesOf(helpText())].sort()).toEqual(current.sort());
    expect(helpText()).toContain(
      `\n\nkubelet --help --all also lists ${all.length - current.length} deprecated flags.\n`,
    );
  });

  it('--help --all lists the deprecated flags by name', () => {
    expect([...namesOf(full)].sort()).toEqual(all.map(({ name }) => name).sort());
    const [, deprecated = ''] = full.split('\nDeprecated:\n');
    expect(namesOf(deprecated)).toEqual(
      all
        .filter(({ isDeprecated }) => isDeprecated)
        .map(({ name }) => name)
        .sort(),
    );
  });

  it.each([
    '      --address ip\n          IP address of the secured server. The read-only server listens on the loopback address.\n          (default 0.0.0.0) (DEPRECATED)\n',
    '      --application-metrics-count-limit int32\n          Has no effect: cAdvisor is not used. (default 100) (DEPRECATED)\n',
    '      --boot-id-file string\n          Has no effect: cAdvisor is not used. (default /proc/sys/kernel/random/boot_id)\n          (DEPRECATED)\n',
    '      --cert-dir string\n          Directory of the TLS certificates, independent of --root-dir. A directory with\n          certificates of another node is refused. (default /var/lib/kubelet/pki)\n',
    '      --cgroup-root string\n          Existing parent cgroup of kubepods. Empty: the root cgroup. No effect if cgroupsPerQOS is\n          false. (DEPRECATED)\n',
    '      --container-log-max-size quantity\n          Size at which a container log is rotated. Negative: logs are not rotated. (default 10Mi)\n          (DEPRECATED)\n',
    '      --enable-load-reader\n          Has no effect: cAdvisor is not used. (DEPRECATED)\n',
    '      --enforce-node-allocatable strings\n          Cgroups on which limits are enforced: pods, system-reserved or\n          system-reserved-compressible, kube-reserved or kube-reserved-compressible; or only none.\n          (default pods) (DEPRECATED)\n',
    '      --eviction-minimum-reclaim key=value,...\n          Amount by signal that an eviction frees beyond the threshold. (DEPRECATED)\n',
    '      --global-housekeeping-interval duration\n          Has no effect: cAdvisor is not used. (default 1m0s) (DEPRECATED)\n',
    '  -h, --help\n          Prints the flags and exits.\n',
    '      --maximum-dead-containers int32\n          Maximum number of dead containers that are kept on the node. Negative: no limit. (default\n          -1) (DEPRECATED)\n',
    '      --minimum-container-ttl-duration duration\n          Minimum time that a dead container is kept. (default 0s) (DEPRECATED)\n',
    '      --node-labels key=value,...\n          Labels that the node gets at its registration: key=value, separated by commas. In the\n          namespaces kubernetes.io and k8s.io only labels that kubelets may set.\n',
    '      --pod-max-pids int64\n          Maximum number of processes in a pod. -1: the limit of the node. No effect if\n          cgroupsPerQOS is false. (default -1) (DEPRECATED)\n',
    '      --rotate-certificates\n          Whether the client certificate is renewed through the API server. (DEPRECATED)\n',
    '      --sync-frequency duration\n          Longest time between two syncs of a pod without events. (default 1m0s) (DEPRECATED)\n',
    '  -v, --v uint32\n          Verbosity of the log: 0 is the least, 4 is for debugging, 10 is everything. (default 0)\n',
    '      --version version[=true]\n          Prints the version and exits. raw prints all parts of the version. vX.Y.Z is refused.\n',
  ])('--help --all contains the entry %j', (entry) => {
    expect(entries).toContain(entry);
  });

  it('--help wraps lines at 100 characters', () => {
    const wide = lines.filter((line) => line.startsWith(' '.repeat(10)));
    expect(Math.max(...wide.map((line) => line.length))).toBe(100);
    for (const [index, line] of lines.entries()) {
      const [word = ''] = (lines[index + 1] ?? '').trimStart().split(' ');
      if (wide.includes(line) && wide.includes(lines[index + 1] ?? '')) {
        expect(line.length + 1 + word.length, line).toBeGreaterThan(100);
      }
    }
  });

  // This test expects the defaults of a command line without --config.
  it.each([
    ['anonymous-auth', '(default true)'],
    ['authentication-token-webhook', undefined],
    ['authorization-mode string', '(default AlwaysAllow)'],
    ['max-pods int32', '(default 110)'],
    ['enable-server', '(default true)'],
    ['seccomp-default', undefined],
  ])('--help shows for --%s the default %s', (flag, expected) => {
    const text = entries.find((entry) => entry.trimStart().startsWith(`--${flag}\n`));
    expect(text).toBeDefined();
    expect(/\(default .*?\)/.exec(text ?? '')?.[0]).toBe(expected);
  });
});

describe('files generated from the schema', () => {
  it('the generated file is up to date: src/generated/kubelet-configuration.ts', () => {
    expect(read('src/generated/kubelet-configuration.ts')).toBe(generatedTypes());
  });

  it('the generated page is up to date: docs/reference/configuration.md', () => {
    expect(read('../../docs/reference/configuration.md')).toBe(configurationPage());
  });
});
