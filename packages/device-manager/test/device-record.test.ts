import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { silentLogger } from '@node-agent/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { readDevices } from '../src/device.ts';
import { DeviceRecord } from '../src/device-record.ts';
import { DeviceInventory } from '../src/inventory.ts';
import { type HeldGrant, PodDevices } from '../src/pod-devices.ts';
import { GPU, healthy } from './builders.ts';

/** Counts how often all is made a text. */
class CountedDevices extends PodDevices {
  asked = 0;

  override all(): readonly HeldGrant[] {
    this.asked++;
    return super.all();
  }
}

describe('DeviceRecord', () => {
  let clock: FakeClock;
  let fs: MemoryFileSystem;
  let inventory: DeviceInventory;
  let held: CountedDevices;
  let record: DeviceRecord;

  beforeEach(async () => {
    clock = new FakeClock();
    fs = new MemoryFileSystem({ clock });
    inventory = new DeviceInventory();
    held = new CountedDevices();
    record = new DeviceRecord({ clock, logger: silentLogger, fs, inventory, held }, '/devices');
    inventory.plugged(GPU);
  });

  async function told(...ids: readonly string[]): Promise<number> {
    inventory.update(GPU, readDevices(healthy(...ids).map((one) => ({ ...one, topology: null }))).devices);
    record.writeToldSoon();
    await clock.settle();
    return held.asked;
  }

  it('W6: what a plugin tells again costs no text of all names', async () => {
    expect(await told('a', 'b')).toBe(1);
    expect(await told('a', 'b')).toBe(1);
    expect(await told('b', 'a')).toBe(1);
    await clock.advance(1_000);
    expect(await told('a')).toBe(2);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1_000);
    expect([held.asked, clock.pendingTimers]).toEqual([2, 0]);
  });

  it('W6: a device that falls ill and gets well without end has all names made a text once a second', async () => {
    expect(await told('a', 'b')).toBe(1);
    for (let times = 0; times < 10; times++) {
      await told('a');
      await told('a', 'b', `${times}`);
    }
    expect(held.asked).toBe(1);
    await clock.advance(1_000);
    expect(held.asked).toBe(2);
    expect(new TextDecoder().decode(await fs.readFile('/devices/kubelet_internal_checkpoint'))).toContain(
      '["9","a","b"]',
    );
  });

  it('K1: what could not be written is written when it is told again', async () => {
    expect(await record.isMissing()).toBe(true);
    const fault = fs.injectFault({ code: 'ENOSPC', path: '/devices', times: Number.POSITIVE_INFINITY });
    expect(await told('a')).toBe(1);
    expect(await record.isMissing()).toBe(true);
    await clock.advance(10_000);
    expect(held.asked).toBe(1);
    fault.remove();
    expect(await told('a')).toBe(2);
    expect(await record.isMissing()).toBe(false);
    await clock.advance(1_000);
    expect(await told('a')).toBe(2);
  });
});
