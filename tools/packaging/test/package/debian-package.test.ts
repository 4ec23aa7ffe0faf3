import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ar } from '../../src/package/ar.ts';
import { debianPackage } from '../../src/package/debian-package.ts';
import { nodeAgentPackage } from '../../src/package/node-agent-package.ts';
import { debianVersion } from '../../src/package/source.ts';

const hasDpkg = spawnSync('dpkg', ['--version']).status === 0;
const ENABLED = 'etc/systemd/system/multi-user.target.wants/kubelet.service';
const TIMEOUT_MS = 120_000;
const isRoot = process.getuid?.() === 0;

/** Returns the package with a small program in place of the single file. */
function deb(version: string, program = '#!/bin/sh\necho kubelet\n'): Buffer {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
  const content = { version, architecture, program: Buffer.from(program), copyright: 'c\n', seconds: 1_700_000_000 };
  return debianPackage(nodeAgentPackage(content));
}

function directory(): string {
  const made = fs.mkdtempSync(path.join(os.tmpdir(), 'deb-'));
  onTestFinished(() => fs.rmSync(made, { recursive: true, force: true }));
  return made;
}

test('an ar archive has one line per file, and each file begins at an even offset', () => {
  const archive = ar(
    [
      { name: 'a', data: Buffer.from('x') },
      { name: 'b', data: Buffer.from('yz') },
    ],
    5,
  );
  expect(archive.toString()).toBe(
    `!<arch>\na               5           0     0     100644  1         \`\nx\nb               5           0     0     100644  2         \`\nyz`,
  );
  expect(() => ar([{ name: 'a-name-that-is-too-long', data: Buffer.alloc(0) }], 0)).toThrow('is too long');
});

test('equal content gives a Debian package of equal bytes, also at another time', async () => {
  const before = deb('1');
  await new Promise((resolve) => setTimeout(resolve, 1100));
  expect(deb('1').equals(before)).toBe(true);
  expect(deb('2').equals(before)).toBe(false);
});

test('a later commit gives a newer version of the Debian package', () => {
  const at = (seconds: number): string => debianVersion({ commit: '0123456789ab', seconds, versionOf: () => '0.1.0' });
  expect(at(1_700_000_000)).toBe('0.1.0+git20231114221320.g0123456789ab');
  if (hasDpkg) execFileSync('dpkg', ['--compare-versions', at(1_700_000_001), 'gt', at(1_700_000_000)]);
});

describe.runIf(hasDpkg)('the Debian package with dpkg', () => {
  let file: string;
  let root: string;

  beforeAll(() => {
    file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'deb-')), 'package.deb');
    fs.writeFileSync(file, deb('1'));
    root = path.join(path.dirname(file), 'root');
    return () => fs.rmSync(path.dirname(file), { recursive: true, force: true });
  });

  /** Runs dpkg on a directory. Maintainer scripts run without chroot, with DPKG_ROOT. */
  function dpkg(...args: readonly string[]): string {
    const flags = [
      `--root=${root}`,
      '--force-script-chrootless',
      '--force-depends',
      '--log=/dev/null',
      '--no-triggers',
    ];
    const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
    return execFileSync('dpkg', [...flags, ...args], { encoding: 'utf8', env, stdio: 'pipe' });
  }

  /** Returns all files below the root, without dpkg's own. */
  function installed(): readonly string[] {
    const all = fs.readdirSync(root, { recursive: true, encoding: 'utf8' });
    return all
      .filter(
        (each) =>
          !/^var\/lib\/(dpkg|systemd)/.test(each) &&
          !fs.statSync(path.join(root, each), { throwIfNoEntry: false })?.isDirectory(),
      )
      .sort();
  }

  test('dpkg-deb reads the control file, and the packaged files have owner root and the given time', () => {
    expect(execFileSync('dpkg-deb', ['-f', file, 'Package', 'Provides', 'Conflicts'], { encoding: 'utf8' })).toBe(
      'Package: node-agent\nProvides: kubelet\nConflicts: kubelet\n',
    );
    const list = execFileSync('dpkg-deb', ['-c', file], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, TZ: 'UTC' },
    });
    expect(list).toMatch(/^-rwxr-xr-x (0|root)\/(0|root) +23 2023-11-14 22:13 \.\/usr\/bin\/kubelet$/m);
    expect(list).toMatch(/\.\/usr\/bin\/nodectl -> kubelet$/m);
    const unpacked = directory();
    execFileSync('dpkg-deb', ['-e', file, unpacked]);
    expect(fs.readFileSync(path.join(unpacked, 'conffiles'), 'utf8')).toBe(
      '/etc/kubernetes/kubelet.yaml\n/etc/default/kubelet\n',
    );
    for (const script of ['postinst', 'prerm', 'postrm']) execFileSync('sh', ['-n', path.join(unpacked, script)]);
  });

  test.runIf(isRoot)(
    "dpkg installs, upgrades with the operator's configuration, removes and purges the package",
    () => {
      for (const each of ['info', 'updates']) fs.mkdirSync(path.join(root, 'var/lib/dpkg', each), { recursive: true });
      fs.writeFileSync(path.join(root, 'var/lib/dpkg/status'), '');
      dpkg('-i', file);
      expect(installed()).toContain('usr/lib/systemd/system/kubelet.service');
      expect(dpkg('-V', 'node-agent')).toBe('');
      const configuration = path.join(root, 'etc/kubernetes/kubelet.yaml');
      fs.appendFileSync(configuration, '# by the operator\n');
      fs.mkdirSync(path.join(root, 'var/lib/kubelet/pods'), { recursive: true });
      fs.writeFileSync(path.join(root, 'etc/kubernetes/manifests/web.yaml'), '');
      const newer = path.join(directory(), 'newer.deb');
      fs.writeFileSync(newer, deb('2', '#!/bin/sh\necho newer\n'));
      dpkg('-i', newer);
      expect(fs.readFileSync(configuration, 'utf8')).toMatch(/# by the operator$/m);
      expect(fs.readFileSync(path.join(root, 'usr/bin/nodectl'), 'utf8')).toContain('newer');
      dpkg('-r', 'node-agent');
      expect(installed().filter((each) => !each.startsWith('etc/kubernetes'))).toEqual([
        'etc/default/kubelet',
        // Debian keeps the information whether the service was enabled until the package is purged.
        ENABLED,
      ]);
      expect(fs.existsSync(path.join(root, 'var/lib/kubelet'))).toBe(true);
      fs.rmSync(path.join(root, 'etc/kubernetes/manifests'), { recursive: true });
      dpkg('-P', 'node-agent');
      expect(installed()).toEqual([]);
      expect(fs.existsSync(path.join(root, 'var/lib/kubelet'))).toBe(false);
      expect(fs.existsSync(path.join(root, 'etc/kubernetes'))).toBe(false);
    },
    TIMEOUT_MS,
  );

  test.runIf(isRoot)(
    "dpkg --purge keeps the operator's manifests and certificates",
    () => {
      dpkg('-i', file);
      const kept = path.join(root, 'etc/kubernetes/manifests/web.yaml');
      fs.writeFileSync(kept, '');
      dpkg('-P', 'node-agent');
      expect(installed()).toEqual(['etc/kubernetes/manifests/web.yaml']);
    },
    TIMEOUT_MS,
  );
});
