import { expect, test } from 'vitest';
import { masqueradeRules, mountsIn } from '../src/leftovers.ts';

const RULES = `-P POSTROUTING ACCEPT
-N CNI-aaa
-N CNI-bbb
-A POSTROUTING -s 10.1.0.2/32 -m comment --comment "name: \\"na-1\\" id: \\"x y\\"" -j CNI-aaa
-A POSTROUTING -s 10.2.0.2/32 -m comment --comment "name: \\"na-12\\" id: \\"z\\"" -j CNI-bbb
-A POSTROUTING -s 10.1.0.0/24 -j MASQUERADE
-A CNI-aaa -d 10.1.0.0/24 -m comment --comment "name: \\"na-1\\" id: \\"x y\\"" -j ACCEPT
`;

test('masqueradeRules returns the iptables rules of one network, with the arguments that delete each rule', () => {
  expect(masqueradeRules(RULES, 'na-1')).toEqual([
    [
      'CNI-aaa',
      [
        '-D',
        'POSTROUTING',
        '-s',
        '10.1.0.2/32',
        '-m',
        'comment',
        '--comment',
        'name: "na-1" id: "x y"',
        '-j',
        'CNI-aaa',
      ],
    ],
  ]);
});

test('masqueradeRules returns no rules for a network without pods', () => {
  expect(masqueradeRules(RULES, 'na-3')).toEqual([]);
});

const MOUNTS = `27 1 254:0 / / rw - ext4 /dev/vda rw
40 27 254:1 /sub /data rw - ext4 /dev/vdb rw
41 27 254:0 /t/k /t/k rw shared:1 - ext4 /dev/vda rw
42 41 254:0 /t/k /t/k rw shared:1 - ext4 /dev/vda rw
43 42 0:5 / /t/k/pods/a\\040b rw - tmpfs x rw
44 40 254:1 /sub/k /data/k rw - ext4 /dev/vdb rw
45 27 254:0 /t/k2 /t/other rw - ext4 /dev/vda rw
46 27 254:2 / /t/disk rw - ext4 /dev/vdc rw
47 46 254:2 /x /t/disk/x rw - ext4 /dev/vdc rw
`;

test.each([
  ['/t/k', ['/t/k', '/t/k', '/t/k/pods/a b']],
  ['/data/k', ['/data/k']],
  ['/data', ['/data/k']],
  // Other file systems are mounted at these points and must stay mounted.
  ['/t/other', []],
  ['/t/disk', ['/t/disk/x']],
  ['/t/none', []],
  ['/t/k2', []],
])('mountsIn returns for the directory %s the mount points %j', (directory, points) => {
  expect(mountsIn(MOUNTS, directory)).toEqual(points);
});
