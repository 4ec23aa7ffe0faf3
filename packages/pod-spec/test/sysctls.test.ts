import { expect, test } from 'vitest';
import { sysctlNamespace } from '../src/index.ts';

test.each([
  ['kernel.sem', 'ipc'],
  ['kernel.shmall', 'ipc'],
  ['kernel.shmmax', 'ipc'],
  ['kernel.shmmni', 'ipc'],
  ['kernel.shm_rmid_forced', 'ipc'],
  ['kernel.shm*', 'ipc'],
  ['kernel.shm', 'ipc'],
  ['kernel.msgmax', 'ipc'],
  ['kernel.msgmnb', 'ipc'],
  ['kernel.msgmni', 'ipc'],
  ['kernel.msg*', 'ipc'],
  ['kernel/msgmax', 'ipc'],
  ['fs.mqueue.msg_max', 'ipc'],
  ['fs/mqueue/msg_max', 'ipc'],
  ['fs.mqueue.*', 'ipc'],
  ['net.ipv4.ip_forward', 'net'],
  ['net/ipv4/conf/eno2.100/rp_filter', 'net'],
  ['net.*', 'net'],
  ['net', undefined],
  ['netx.a', undefined],
  ['a.net.', undefined],
  ['fs.mqueue', undefined],
  ['fs.file-max', undefined],
  ['x.fs.mqueue.', undefined],
  ['kernel.semx', undefined],
  ['kernel.s*', undefined],
  ['kernel.domainname', undefined],
  ['*', undefined],
  ['', undefined],
])('the sysctl %s belongs to the namespace %s', (name, namespace) => {
  expect(sysctlNamespace(name)).toBe(namespace);
});
