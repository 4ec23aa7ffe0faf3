import { FakeClock } from '@node-agent/async/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { silentLogger } from '@node-agent/telemetry';
import { beforeEach, describe, expect, it } from 'vitest';
import { readDevices } from '../src/device.ts';
import { DeviceRecord } from '../src/device-record.ts';
import { DeviceInventory } from '../src/inventory.ts';
import { type HeldGrant, PodDevices } from '../src/pod-devices.ts';
import { GPU, healthy } from './builders.ts';

/** Counts the calls that read all grants for encoding. */
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

  it('W6: does not encode all device names again if a plugin repeats its list', async () => {
    expect(await told('a', 'b')).toBe(1);
    expect(await told('a', 'b')).toBe(1);
    expect(await told('b', 'a')).toBe(1);
    await clock.advance(1_000);
    expect(await told('a')).toBe(2);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1_000);
    expect([held.asked, clock.pendingTimers]).toEqual([2, 0]);
  });

  it('W6: encodes all device names at most once per second if a device changes its health without end', async () => {
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

  it('K1, N8: retries a failed write with doubled delays, and when a plugin reports again', async () => {
    expect(await record.isMissing()).toBe(true);
    const fault = fs.injectFault({ code: 'ENOSPC', path: '/devices', times: Number.POSITIVE_INFINITY });
    expect(await told('a')).toBe(1);
    expect(await record.isMissing()).toBe(true);
    await clock.advance(14_999);
    expect(held.asked).toBe(4);
    fault.remove();
    await clock.advance(1);
    expect([held.asked, await record.isMissing(), clock.pendingTimers]).toEqual([5, false, 0]);
    expect(await told('a')).toBe(5);

    fs.injectFault({ code: 'ENOSPC', path: '/devices', times: 1 });
    expect(await told('b')).toBe(6);
    // After a successful write, the delay of the first retry is 1 s again. A call of `writeSoon()` writes immediately.
    await clock.advance(999);
    expect(held.asked).toBe(6);
    record.writeSoon();
    await clock.advance(120_000);
    expect([held.asked, clock.pendingTimers]).toEqual([7, 0]);
  });

  it('K1, N8: retries a write that failed after an earlier write succeeded', async () => {
    const ofFault = (): void => void fs.injectFault({ code: 'ENOSPC', path: '/devices', times: 1 });
    ofFault();
    await expect(record.write()).rejects.toMatchObject({ code: 'CheckpointNotWritten' });
    await clock.advance(200);
    await record.write();
    ofFault();
    expect(await told('a')).toBe(3);
    await clock.advance(120_000);
    expect([held.asked, clock.pendingTimers]).toEqual([4, 0]);
  });

  it('K1: retries once a minute while the disk keeps failing, and stops when the kubelet stops', async () => {
    const ending = new AbortController();
    record.begin(ending.signal);
    fs.injectFault({ code: 'ENOSPC', path: '/devices', times: Number.POSITIVE_INFINITY });
    await expect(record.write()).rejects.toMatchObject({ code: 'CheckpointNotWritten' });
    await clock.advance(3_600_000);
    const tries = held.asked;
    await clock.advance(3_600_000);
    expect(held.asked - tries).toBe(60);
    ending.abort();
    await clock.advance(3_600_000);
    expect([held.asked - tries, clock.pendingTimers]).toEqual([60, 0]);
  });
});
