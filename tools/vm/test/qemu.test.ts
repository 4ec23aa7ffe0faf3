import { describe, expect, test } from 'vitest';
import { guestFiles, MASKED_UNITS } from '../src/guest.ts';
import { qemuArguments } from '../src/qemu.ts';

const options = { image: { directory: '/image' }, run: '/run', share: '/share' };
/** What follows each of these options. */
const all = (args: readonly string[], option: string): string[] =>
  args.flatMap((arg, index) => (arg === option ? [args[index + 1] ?? ''] : []));

describe('the emulator', () => {
  test('goes on from the saved state, and throws away what is written to the disk', () => {
    const args = qemuArguments(options);
    expect(all(args, '-incoming')).toEqual(["exec:cat '/image/state'"]);
    expect(all(args, '-drive')[0]).toMatch(/^file=\/image\/warm\.qcow2,.*,snapshot=on$/);
    expect(all(args, '-monitor')).toEqual([]);
  });

  test('boots from the disk where the state is to be made', () => {
    const args = qemuArguments({ ...options, cold: true, monitor: true });
    expect(all(args, '-incoming')).toEqual([]);
    expect(all(args, '-drive')[0]).not.toContain('snapshot');
    expect(all(args, '-monitor')).toEqual(['stdio']);
  });

  test('is the same machine both times: a saved state goes on in no other one', () => {
    const machine = (args: readonly string[]) =>
      ['-M', '-cpu', '-smp', '-m', '-nic', '-virtfs', '-device', '-append'].flatMap((option) => all(args, option));
    expect(machine(qemuArguments(options))).toEqual(machine(qemuArguments({ ...options, cold: true, monitor: true })));
  });

  test("gives the guest the tests' files to read, and no network beyond it", () => {
    const args = qemuArguments(options);
    expect(all(args, '-virtfs')[0]).toMatch(/path=\/share,mount_tag=host,.*,readonly=on$/);
    expect(all(args, '-nic')[0]).toContain('restrict=on');
  });
});

test('the guest leaves out what no test needs, and not what runs the command', () => {
  const units = guestFiles().map(({ path }) => path.slice(path.lastIndexOf('/') + 1));
  expect(MASKED_UNITS.filter((unit) => units.includes(unit))).toEqual([]);
  expect(new Set(MASKED_UNITS).size).toBe(MASKED_UNITS.length);
  expect(MASKED_UNITS.every((unit) => /\.(service|mount|timer)$/.test(unit))).toBe(true);
});
