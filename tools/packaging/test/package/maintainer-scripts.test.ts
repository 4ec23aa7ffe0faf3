import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

const FILES = path.join(import.meta.dirname, '../../files');
const TIMEOUT_MS = 60_000;
const isRoot = process.getuid?.() === 0;
const canMount = isRoot && spawnSync('unshare', ['-m', 'true']).status === 0;
const canFilter = isRoot && spawnSync('unshare', ['-n', 'iptables', '-S']).status === 0;

/** Returns a maintainer script whose absolute paths are moved below a directory. */
function scriptBelow(root: string, name: string): string {
  const script = fs.readFileSync(path.join(FILES, name), 'utf8');
  return script.replaceAll(/\/(usr|etc|run|var|sys)\b/g, `${root}$&`);
}

/** Creates a root directory with these files. */
function rootWith(files: Readonly<Record<string, string>>): string {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'root-')));
  onTestFinished(() => fs.rmSync(root, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    fs.writeFileSync(path.join(root, name), content, { mode: 0o755 });
  }
  return root;
}

describe('prerm of the Debian package', { timeout: TIMEOUT_MS }, () => {
  /**
   * Runs `prerm` with its absolute paths moved below a directory, because with DPKG_ROOT it never ends pods.
   * @returns the arguments with which it called the kubelet, and what it wrote
   */
  function prerm(settings: string | undefined, ...args: readonly string[]) {
    const kubelet = `#!/bin/sh\necho "$@" >>"\${0%kubelet}calls"\n`;
    const root = rootWith({ 'usr/bin/kubelet': kubelet, ...(settings && { 'etc/default/kubelet': settings }) });
    const { status, stderr } = spawnSync('sh', ['-c', scriptBelow(root, 'prerm'), 'prerm', ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, DPKG_ROOT: '' },
    });
    const calls = path.join(root, 'usr/bin/calls');
    const called = fs.existsSync(calls) ? fs.readFileSync(calls, 'utf8').replaceAll(root, '').trimEnd() : undefined;
    return { status, stderr, called };
  }
  const END_PODS = '--node-agent-part=end-pods --config /etc/kubernetes/kubelet.yaml';

  test.each([
    ['no file', undefined, undefined],
    ['the shipped file', fs.readFileSync(path.join(FILES, 'default'), 'utf8'), undefined],
    ['yes', 'KEEP_PODS_ON_REMOVE=yes\n', undefined],
    ['a comment', '#KEEP_PODS_ON_REMOVE=no\n', undefined],
    ['no', 'KEEP_PODS_ON_REMOVE=no\n', END_PODS],
    ['"no"', ' KEEP_PODS_ON_REMOVE="no"\n', END_PODS],
    ['yes, then no', "KEEP_PODS_ON_REMOVE=yes\nKEEP_PODS_ON_REMOVE='no'\n", END_PODS],
    ['a setting that is not valid shell', 'KUBELET_ARGS=--node-ip=10.0.0.1 --v=2\nKEEP_PODS_ON_REMOVE=no\n', END_PODS],
  ])('removal ends the pods only if /etc/default/kubelet sets KEEP_PODS_ON_REMOVE=no: %s', (_, settings, called) => {
    const result = prerm(settings, 'remove');
    expect(result).toMatchObject({ status: 0, called });
    expect(result.stderr).toMatch(called === undefined ? /^node-agent: the pods of this node keep running/ : /^$/);
  });

  test.each([
    ['KUBELET_ARGS="--v=2 --container-runtime-endpoint=unix:///run/crio/crio.sock --v=3"'],
    ['KUBELET_ARGS=--container-runtime-endpoint unix:///run/crio/crio.sock'],
    ['KUBELET_ARGS=--container-runtime-endpoint=unix:///a --container-runtime-endpoint=unix:///run/crio/crio.sock'],
    [
      'KUBELET_ARGS="--container-runtime-endpoint=unix:///a"\nKUBELET_ARGS=--container-runtime-endpoint=unix:///run/crio/crio.sock',
    ],
  ])('prerm ends the pods in the runtime that the flags name: %s', (settings) => {
    expect(prerm(`${settings}\nKEEP_PODS_ON_REMOVE=no\n`, 'remove').called).toBe(
      `${END_PODS} --container-runtime-endpoint=unix:///run/crio/crio.sock`,
    );
  });

  test('prerm does not run a command in /etc/default/kubelet', () => {
    const settings = 'KUBELET_ARGS="--container-runtime-endpoint=$(kubelet;exit)"\nKEEP_PODS_ON_REMOVE=no\nexit 7\n';
    const { status, called } = prerm(settings, 'remove');
    expect([status, called]).toEqual([0, `${END_PODS} --container-runtime-endpoint=$(kubelet;exit)`]);
  });

  test.each([[['upgrade', '2']], [['remove', 'in-favour', 'kubelet']]])(
    'prerm keeps the pods if its arguments are %j',
    (args) => {
      expect(prerm('KEEP_PODS_ON_REMOVE=no\n', ...args)).toMatchObject({ status: 0, called: undefined });
    },
  );
});

describe('postrm purge of the Debian package', { timeout: TIMEOUT_MS }, () => {
  const POD = 'var/lib/kubelet/pods/a/volume';

  /** Runs `postrm purge` on a root directory, after commands in a mount namespace of its own. */
  function purge(root: string, before = ':') {
    const script = `set -e\n${before}\nexec sh ${path.join(FILES, 'postrm')} purge`;
    const command = canMount ? ['unshare', '-m', 'sh', '-c', script] : ['sh', '-c', script];
    const env = {
      PATH: `${process.env.PATH}:/usr/sbin:/sbin`,
      DPKG_ROOT: root,
      DPKG_MAINTSCRIPT_PACKAGE: 'node-agent',
    };
    return spawnSync(command[0] as string, command.slice(1), { encoding: 'utf8', env, cwd: root });
  }
  const has = (root: string, name: string): boolean => fs.existsSync(path.join(root, name));

  test('postrm purge keeps the data if another package provides /usr/bin/kubelet', () => {
    const root = rootWith({ 'usr/bin/kubelet': '', [`${POD}/f`]: '', 'var/log/pods/a/0.log': '' });
    const { status, stderr } = purge(root);
    expect(status).toBe(0);
    expect(stderr).toContain('another package provides /usr/bin/kubelet');
    expect([has(root, `${POD}/f`), has(root, 'var/log/pods/a/0.log')]).toEqual([true, true]);
  });

  test.runIf(canMount)('postrm purge removes the directory of the kubelet after it has unmounted the volumes', () => {
    const root = rootWith({ 'data/f': '', [`${POD} 1\\2/f`]: '' });
    const { status, stderr } = purge(root, `mount --bind data '${POD} 1\\2'`);
    expect([status, stderr]).toEqual([0, '']);
    expect([has(root, 'data/f'), has(root, 'var/lib/kubelet')]).toEqual([true, false]);
  });

  test.runIf(canMount)('postrm purge keeps the data of a volume that cannot be unmounted', () => {
    const root = rootWith({ 'data/f': '', [`${POD}/f`]: '', 'var/lib/kubelet/config': '' });
    // The working directory of the script keeps the volume busy.
    const { status, stderr } = purge(root, `mount --bind data ${POD}\ncd ${POD}`);
    expect(status).toBe(0);
    expect(stderr).toContain(`kept ${root}/var/lib/kubelet: still mounted: ${root}/${POD}`);
    expect([has(root, 'data/f'), has(root, 'var/lib/kubelet/config')]).toEqual([true, true]);
  });

  test.runIf(canMount)('postrm purge unmounts and removes the directory to which a link /var/lib/kubelet leads', () => {
    const root = rootWith({ 'data/f': '', 'disk/kubelet/pods/v/f': '', 'disk/other': '', 'var/lib/dpkg/status': '' });
    fs.symlinkSync('../../disk/kubelet', path.join(root, 'var/lib/kubelet'));
    const { status, stderr } = purge(root, 'mount --bind data disk/kubelet/pods/v');
    expect([status, stderr]).toEqual([0, '']);
    expect(['data/f', 'disk/other', 'disk/kubelet'].map((name) => has(root, name))).toEqual([true, true, false]);
    expect(fs.readdirSync(path.join(root, 'var/lib'))).not.toContain('kubelet');
  });

  test('postrm purge keeps a directory outside the root directory to which a link /var/lib/kubelet leads', () => {
    const [root, outside] = [rootWith({ 'var/lib/dpkg/status': '' }), rootWith({ f: '' })];
    fs.symlinkSync(outside, path.join(root, 'var/lib/kubelet'));
    const { status, stderr } = purge(root);
    expect(status).toBe(0);
    expect(stderr).toBe(`node-agent: kept ${outside}: ${root}/var/lib/kubelet leads out of the root directory\n`);
    expect(has(outside, 'f')).toBe(true);
  });

  test.runIf(canFilter)(
    "postrm purge removes the kubelet's iptables chains and keeps chains and rules of others",
    () => {
      const root = rootWith({ 'var/lib/kubelet/f': '' });
      const others = [
        ...['iptables -t nat -N KUBE-SERVICES', 'iptables -N OWN', 'ip6tables -N OWN'],
        ...['iptables -A INPUT -j OWN', 'iptables -A OUTPUT -d 10.0.0.1 -j OWN'],
      ];
      const own = [
        ...['iptables -t mangle -N KUBE-IPTABLES-HINT', 'ip6tables -t mangle -N KUBE-IPTABLES-HINT'],
        ...['mangle', 'nat', 'filter'].map((table) => `iptables -t ${table} -N KUBE-KUBELET-CANARY`),
        ...['iptables -N KUBE-FIREWALL', 'iptables -A KUBE-FIREWALL -d 127.0.0.0/8 -j DROP'],
        ...['iptables -I OUTPUT -j KUBE-FIREWALL', 'iptables -I INPUT -j KUBE-FIREWALL'],
      ];
      /** Returns the rules of a network namespace of its own after commands. */
      const rulesAfter = (...commands: readonly string[]): string => {
        const show = 'for each in iptables ip6tables; do for t in mangle nat filter; do $each -t $t -S; done; done';
        const script = ['set -e', 'iptables -t nat -S >/dev/null', ...commands, show].join('\n');
        const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, DPKG_ROOT: '', SCRIPT: scriptBelow(root, 'postrm') };
        const { status, stdout, stderr } = spawnSync('unshare', ['-n', 'sh', '-c', script], { encoding: 'utf8', env });
        expect([status, stderr]).toEqual([0, '']);
        return stdout;
      };
      const purged = rulesAfter(...others, ...own, 'sh -c "$SCRIPT" postrm purge');
      expect(purged).toBe(rulesAfter(...others));
      expect(purged).toContain('KUBE-SERVICES');
      expect(has(root, 'var/lib/kubelet')).toBe(false);
    },
  );

  test("postrm purge removes the kubelet's file for logind and keeps other files beside it", () => {
    const override = 'etc/systemd/logind.conf.d/99-kubelet.conf';
    const alone = rootWith({ [override]: '' });
    const besides = rootWith({ [override]: '', 'etc/systemd/logind.conf.d/own.conf': '' });
    for (const root of [alone, besides]) expect(purge(root).status).toBe(0);
    expect([has(alone, 'etc/systemd/logind.conf.d'), has(alone, 'etc/systemd')]).toEqual([false, true]);
    expect(fs.readdirSync(path.join(besides, 'etc/systemd/logind.conf.d'))).toEqual(['own.conf']);
  });
});
