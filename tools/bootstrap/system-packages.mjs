// Debian's packages that run nodes beside npm's: as root on a Debian-like system the missing ones are installed, after saying so.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

/** What runs containers, and what it takes to build newer programs of that kind; each with a file that it brings. */
export const NODE_PACKAGES = [
  ['containerd', '/usr/bin/containerd'],
  ['runc', '/usr/sbin/runc'],
  ['containernetworking-plugins', '/usr/lib/cni/bridge'],
  ['busybox-static', '/bin/busybox'],
  ['iproute2', '/sbin/ip'],
  ['iptables', '/usr/sbin/iptables'],
  ['gcc', '/usr/bin/gcc'],
  ['libc6-dev', '/usr/include/stdlib.h'],
  ['pkg-config', '/usr/bin/pkg-config'],
  ['libseccomp-dev', '/usr/include/seccomp.h'],
  ['openssl', '/usr/bin/openssl'],
];

/** What upstream's suites look for in the images that are made for them, and what builds the busybox in those. */
export const SUITE_PACKAGES = [
  ['curl', '/usr/bin/curl'],
  ['bind9-dnsutils', '/usr/bin/dig'],
  ['netcat-openbsd', '/usr/bin/nc.openbsd'],
  ['util-linux', '/usr/bin/ipcs'],
  ['make', '/usr/bin/make'],
  ['bzip2', '/usr/bin/bzip2'],
];

/** @returns the missing ones that could not be installed, or may not be from here; `output` is of the program that could not */
export function installMissing(wanted, say) {
  const missing = wanted.filter(([, file]) => !fs.existsSync(file)).map(([name]) => name);
  if (missing.length === 0) return { missing };
  if (process.getuid?.() !== 0 || !fs.existsSync('/usr/bin/apt-get')) {
    say(`not installed, and not to be installed from here: ${missing.join(', ')}`);
    return { missing };
  }
  say(`installing with apt-get: ${missing.join(', ')}`);
  const aptGet = (...args) =>
    spawnSync('apt-get', args, { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  const install = ['install', '--yes', '--no-install-recommends', ...missing];
  let result = aptGet(...install);
  if (result.status !== 0) {
    // The lists of packages may be absent or old; they are fetched only where it takes that.
    aptGet('update');
    result = aptGet(...install);
  }
  if (result.status === 0) return { missing: [] };
  return { missing, output: `${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}` };
}
