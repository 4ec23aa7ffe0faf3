import { describe, expect, test } from 'vitest';
import { guestFiles, MASKED_UNITS } from '../src/guest.ts';
import { qemuArguments } from '../src/qemu.ts';

const options = { image: { directory: '/image' }, run: '/run', share: '/share' };
/** Returns the values of all occurrences of an option. */
const all = (args: readonly string[], option: string): string[] =>
  args.flatMap((arg, index) => (arg === option ? [args[index + 1] ?? ''] : []));

describe('qemuArguments', () => {
  test('qemuArguments resume the saved state and discard writes to the disk', () => {
    const args = qemuArguments(options);
    expect(all(args, '-incoming')).toEqual(["exec:cat '/image/state'"]);
    expect(all(args, '-drive')[0]).toMatch(/^file=\/image\/warm\.qcow2,.*,snapshot=on$/);
    expect(all(args, '-monitor')).toEqual([]);
  });

  test('qemuArguments boot from the disk if the state is to be saved', () => {
    const args = qemuArguments({ ...options, cold: true, monitor: true });
    expect(all(args, '-incoming')).toEqual([]);
    expect(all(args, '-drive')[0]).not.toContain('snapshot');
    expect(all(args, '-monitor')).toEqual(['stdio']);
  });

  test('qemuArguments describe the same machine for saving and for resuming the state', () => {
    const machine = (args: readonly string[]) =>
      ['-M', '-cpu', '-smp', '-m', '-nic', '-virtfs', '-device', '-append'].flatMap((option) => all(args, option));
    expect(machine(qemuArguments(options))).toEqual(machine(qemuArguments({ ...options, cold: true, monitor: true })));
  });

  test('qemuArguments boot a machine with two NUMA nodes and discard writes to the disk', () => {
    const args = qemuArguments({ ...options, numa: { coresPerSocket: 2, nodeMegabytes: 1536 } });
    expect(all(args, '-smp')).toEqual(['8,sockets=2,cores=2,threads=2']);
    expect(all(args, '-icount')).toEqual([]);
    expect(all(args, '-numa')).toEqual([
      'node,nodeid=0,cpus=0-3,memdev=m0',
      'node,nodeid=1,cpus=4-7,memdev=m1',
      'dist,src=0,dst=1,val=21',
    ]);
    expect(all(args, '-incoming')).toEqual([]);
    expect(all(args, '-drive')[0]).toMatch(/^file=\/image\/root\.img,format=raw,.*,snapshot=on$/);
  });

  test('qemuArguments let the clock of a NUMA machine count instructions on request', () => {
    const numa = { coresPerSocket: 4, nodeMegabytes: 2048, countsInstructions: true };
    const args = qemuArguments({ ...options, numa });
    expect(all(args, '-smp')).toEqual(['16,sockets=2,cores=4,threads=2']);
    expect(all(args, '-m')).toEqual(['4096M']);
    expect(all(args, '-icount')).toEqual(['shift=0,sleep=off']);
  });

  test("qemuArguments share the tests' files read-only and restrict the network", () => {
    const args = qemuArguments(options);
    expect(all(args, '-virtfs')[0]).toMatch(/path=\/share,mount_tag=host,.*,readonly=on$/);
    expect(all(args, '-nic')[0]).toContain('restrict=on');
  });
});

test('the guest masks units without masking those that run the command', () => {
  const units = guestFiles().map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  expect(MASKED_UNITS.filter((unit) => units.includes(unit))).toEqual([]);
  expect(new Set(MASKED_UNITS).size).toBe(MASKED_UNITS.length);
  expect(MASKED_UNITS.every((unit) => /\.(service|socket|mount|timer)$/.test(unit))).toBe(true);
});
