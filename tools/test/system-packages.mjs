// What the end-to-end tests take beside npm's packages: a containerd, runc, CNI plugins and a static busybox, and what it
// takes to build newer ones. As root on a Debian-like system the missing ones are installed, after saying so; elsewhere
// the tests that need them are skipped, and say why.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

/** Each package with a file that it brings. */
const WANTED = [
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

const missing = WANTED.filter(([, file]) => !fs.existsSync(file)).map(([name]) => name);
if (missing.length === 0) {
  console.log('all there');
} else if (process.getuid?.() !== 0 || !fs.existsSync('/usr/bin/apt-get')) {
  console.log(`not installed, and not to be installed from here: ${missing.join(', ')}`);
} else {
  console.log(`installing with apt-get: ${missing.join(', ')}`);
  const aptGet = (...args) =>
    spawnSync('apt-get', args, { encoding: 'utf8', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } });
  const install = ['install', '--yes', '--no-install-recommends', ...missing];
  let result = aptGet(...install);
  if (result.status !== 0) {
    // The lists of packages may be absent or old; they are fetched only where it takes that.
    aptGet('update');
    result = aptGet(...install);
  }
  if (result.status !== 0) {
    console.error(`${result.stdout ?? ''}${result.stderr ?? ''}${result.error?.message ?? ''}`);
    process.exit(1);
  }
}
