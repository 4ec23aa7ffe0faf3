// Debian packages that some commands need in addition to npm packages. As root on a Debian-like system, missing
// packages are installed, after printing a message.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

/** Packages that run containers or build newer container programs, each with a file that it contains. */
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
  ['e2fsprogs', '/sbin/mkfs.ext4'],
  ['xfsprogs', '/sbin/mkfs.xfs'],
];

/**
 * The browser that tests the page about a node: 87 MB to download, 280 MB on disk. Not every distribution has this
 * browser package.
 */
export const BROWSER_PACKAGES = [['chromium-headless-shell', '/usr/bin/chromium-headless-shell']];

/**
 * Packages with programs that upstream's test suites expect in the images built for them, and with the tools that build
 * busybox for these images. Each package has the path of a file that it contains.
 */
export const SUITE_PACKAGES = [
  ['curl', '/usr/bin/curl'],
  ['bind9-dnsutils', '/usr/bin/dig'],
  ['netcat-openbsd', '/usr/bin/nc.openbsd'],
  ['util-linux', '/usr/bin/ipcs'],
  ['make', '/usr/bin/make'],
  ['bzip2', '/usr/bin/bzip2'],
];

/**
 * Installs missing packages. @returns the packages that are still missing; `output` is the output of apt-get if it
 * failed
 */
export function installMissing(wanted, say) {
  const missing = wanted.filter(([, file]) => !fs.existsSync(file)).map(([name]) => name);
  if (missing.length === 0) return { missing };
  if (process.getuid?.() !== 0 || !fs.existsSync('/usr/bin/apt-get')) {
    say(`missing packages that cannot be installed (needs root and apt-get): ${missing.join(', ')}`);
    return { missing };
  }
  say(`installing with apt-get: ${missing.join(', ')}`);
  const aptGet = (...args) =>
    spawnSync('apt-get', args, { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  const install = ['install', '--yes', '--no-install-recommends', ...missing];
  let result = aptGet(...install);
  if (result.status !== 0) {
    // The package lists may be missing or outdated. The package lists are updated only if the installation fails.
    aptGet('update');
    result = aptGet(...install);
  }
  if (result.status === 0) return { missing: [] };
  return { missing, output: `${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}` };
}
