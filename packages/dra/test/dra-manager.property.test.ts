import { type Random, Semaphore, seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { MemorySockets } from '@node-agent/grpc/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import type { Pod } from '@node-agent/pod-spec';
import { expect, it } from 'vitest';
import { DraManager, type ResourceClaim } from '../src/index.ts';
import { type FakeClaim, FakeDraPlugin } from '../src/testing.ts';
import { claimOf, deviceOf, podOf } from './builders.ts';

const DRIVERS = ['gpu.example.com', 'nic.example.com'] as const;
const DEVICES = 2;
const STEPS = 60;

/** A driver that handles calls one after another, as the library for DRA drivers does. */
interface Driver {
  readonly name: string;
  readonly plugin: FakeDraPlugin;
  readonly turns: Semaphore;
  /** Claims for which a call is in progress, by UID. */
  readonly called: Set<string>;
  isRegistered: boolean;
}

/**
 * A node on which drivers may fail, hang or be deregistered, the disk may be full, and the kubelet may be killed. Claims
 * have devices of one driver or of both, and pods have one claim or two.
 */
class Node {
  readonly clock = new FakeClock();
  readonly #random: Random;
  readonly #fs = new MemoryFileSystem({ clock: this.clock });
  readonly #sockets = new MemorySockets();
  readonly #claims = new Map<string, ResourceClaim>();
  /** Names of the claims of each pod whose containers may run, by pod UID. */
  readonly running = new Map<string, readonly string[]>();
  /** Names of the claims of each pod that the kubelet knows, by pod UID. */
  readonly known = new Map<string, readonly string[]>();
  readonly faults: string[] = [];
  readonly #drivers: readonly Driver[];
  #manager!: DraManager;
  #stop = new AbortController();
  #isDiskFull = false;
  #calm = false;
  #serial = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#drivers = DRIVERS.map((name) => this.#driver(name));
  }

  async start(): Promise<void> {
    for (const { plugin } of this.#drivers) await plugin.start();
    this.#boot();
  }

  /** Kills the kubelet at any point of its work, and starts the next one. */
  restart(): void {
    this.#stop.abort();
    this.#boot();
  }

  async step(): Promise<void> {
    const choice = this.#random.next() * 10;
    if (choice < 4) void this.#startPod(this.#newPod());
    else if (choice < 5) void this.#startPod(this.#pick(this.known) ?? this.#newPod());
    else if (choice < 7) void this.#stopPod(this.#pick(this.known));
    else if (choice < 7.5) this.#forgetByForce(this.#pick(this.running));
    else if (choice < 8) this.restart();
    else if (choice < 8.5) this.#isDiskFull = !this.#isDiskFull;
    else if (choice < 9) this.#toggle(this.#drivers[choice < 8.75 ? 0 : 1] as Driver);
    await this.clock.advance(Math.floor(this.#random.next() ** 4 * 50_000));
    this.check();
  }

  /** Removes all pods, without further faults. @returns the claims that the driver still has prepared */
  async end(): Promise<readonly string[]> {
    this.#isDiskFull = false;
    this.#calm = true;
    this.restart();
    this.running.clear();
    this.known.clear();
    await this.clock.advance(200_000);
    return this.#drivers.flatMap(({ plugin }) => [...plugin.prepared]);
  }

  check(): void {
    for (const [pod, names] of this.running) {
      for (const name of names) {
        for (const { plugin, name: driver } of this.#drivers) {
          if (this.#devicesOf(name, driver).length > 0 && !plugin.prepared.has(`uid-${name}`))
            this.faults.push(`${name} of ${pod} is not prepared by ${driver}`);
        }
      }
    }
  }

  #devicesOf(claim: string, driver: string): readonly string[] {
    const results = this.#claims.get(claim)?.status?.allocation?.devices?.results ?? [];
    return results.filter((result) => result.driver === driver).map(({ device }) => device);
  }

  #driver(name: string): Driver {
    const plugin: FakeDraPlugin = new FakeDraPlugin({
      socketPath: `/plugins/${name}.sock`,
      transport: this.#sockets,
      prepare: (claim, signal) => this.#alone(driver, claim, signal, () => this.#prepare(driver, claim, signal)),
      unprepare: (claim, signal) => this.#alone(driver, claim, signal, () => this.#unprepare(driver, claim, signal)),
    });
    const driver: Driver = { name, plugin, turns: new Semaphore(1), called: new Set(), isRegistered: false };
    return driver;
  }

  async #prepare({ name: driver }: Driver, { name }: FakeClaim, signal: AbortSignal) {
    const outcome = await this.#trouble(signal);
    if (outcome !== '') return { error: outcome };
    const devices = this.#devicesOf(name, driver);
    for (const [pod, others] of this.running) {
      for (const other of others) {
        const taken = other === name ? [] : this.#devicesOf(other, driver).filter((device) => devices.includes(device));
        for (const device of taken) this.faults.push(`${device} of ${pod} goes to ${name}`);
      }
    }
    const cdiDeviceIds = [`example.com/gpu=${name}`];
    return { devices: devices.map((deviceName) => ({ poolName: 'node', deviceName, cdiDeviceIds })) };
  }

  async #unprepare({ plugin }: Driver, { name, uid }: FakeClaim, signal: AbortSignal) {
    const outcome = await this.#trouble(signal);
    for (const [pod, names] of this.running) {
      if (names.includes(name)) this.faults.push(`${name} is taken from ${pod}`);
    }
    // A driver that reports a failure may nevertheless have unprepared the claim.
    if (outcome !== '' && this.#random.next() < 0.5) plugin.prepared.delete(uid);
    return { error: outcome };
  }

  /** Handles a call in the driver's turn, and records a fault if another call for the same claim is in progress. */
  async #alone<T>(
    { name, turns, called }: Driver,
    claim: FakeClaim,
    signal: AbortSignal,
    handle: () => Promise<T>,
  ): Promise<T> {
    if (called.has(claim.uid)) this.faults.push(`${name} is called twice for ${claim.name}`);
    called.add(claim.uid);
    // A kubelet that aborts a call may make the next one.
    const end = (): void => void called.delete(claim.uid);
    signal.addEventListener('abort', end, { once: true });
    try {
      return await turns.run(handle);
    } finally {
      if (!signal.aborted) end();
    }
  }

  #boot(): void {
    this.#stop = new AbortController();
    const fs = this.#fs;
    const writeFileAtomic: typeof fs.writeFileAtomic = async (...args) => {
      if (this.#isDiskFull) throw new Error('no space left on device');
      await fs.writeFileAtomic(...args);
    };
    const files = {
      mkdir: fs.mkdir.bind(fs),
      open: fs.open.bind(fs),
      readdir: fs.readdir.bind(fs),
      remove: fs.remove.bind(fs),
      writeFileAtomic,
    };
    this.#manager = new DraManager(
      {
        ...{ clock: this.clock, fs: files, transport: this.#sockets },
        claims: { get: async (_namespace, name) => this.#claims.get(name) },
        slices: { remove: async () => {} },
        pods: {
          active: () => [...this.known].map(([uid, names]) => podWithClaims(uid, names)),
          mayRun: (uid) => this.running.has(uid),
          sourcesReady: () => true,
        },
      },
      { directory: '/root' },
    );
    void this.#manager.start(this.#stop.signal);
    for (const driver of this.#drivers) {
      driver.isRegistered = false;
      this.#toggle(driver);
    }
  }

  #toggle(driver: Driver): void {
    const { name, plugin, isRegistered } = driver;
    if (isRegistered) this.#manager.deregisterPlugin(name, plugin.socketPath);
    else this.#manager.registerPlugin(name, plugin.socketPath, ['v1.DRAPlugin']);
    driver.isRegistered = !isRegistered;
  }

  /**
   * Creates a pod with one or two claims. A claim is either new, with random devices, or a recent claim, which other pods
   * may use or which may be about to be unprepared.
   */
  #newPod(): string {
    const uid = `pod-${this.#serial++}`;
    const names = new Set([this.#claimFor(uid, 0), ...(this.#random.next() < 0.4 ? [this.#claimFor(uid, 1)] : [])]);
    this.known.set(uid, [...names]);
    return uid;
  }

  #claimFor(uid: string, index: number): string {
    const recent = new Map([...this.#claims].slice(-6));
    const name = (this.#random.next() < 0.3 ? this.#pick(recent) : undefined) ?? `claim-${index}-${uid}`;
    const users = [...this.known].flatMap(([pod, names]) => (names.includes(name) ? [pod] : []));
    const devices = this.#claims.get(name)?.status?.allocation?.devices?.results ?? this.#randomDevices(index);
    this.#claims.set(name, claimOf(name, devices, [...users, uid]));
    return name;
  }

  /** The new claims of one pod have different devices. */
  #randomDevices(index: number) {
    const choice = this.#random.next();
    const drivers = choice < 0.35 ? [DRIVERS[0]] : choice < 0.7 ? [DRIVERS[1]] : DRIVERS;
    return drivers.map((driver) => deviceOf(`d${index}-${Math.floor(this.#random.next() * DEVICES)}`, { driver }));
  }

  async #startPod(uid: string): Promise<void> {
    const names = this.known.get(uid);
    if (names === undefined) return;
    const { signal } = this.#stop;
    try {
      await this.#manager.prepare(podWithClaims(uid, names), signal);
      // A kubelet that was killed meanwhile does not start the container.
      if (!signal.aborted && this.known.has(uid)) this.running.set(uid, names);
    } catch {
      // A later step may start the pod again.
    }
  }

  /** Deletes the Pod object by force while its containers run. The containers stop later. */
  #forgetByForce(uid: string | undefined): void {
    if (uid === undefined) return;
    this.known.delete(uid);
    this.clock.setTimer(this.#random.next() * 100_000, () => this.running.delete(uid));
  }

  /**
   * Stops the containers of a pod. Its claims are then unprepared, as in the terminating step of a pod worker, or not,
   * as if the pod had been deleted by force.
   */
  async #stopPod(uid: string | undefined): Promise<void> {
    const names = uid === undefined ? undefined : this.known.get(uid);
    if (uid === undefined || names === undefined) return;
    this.running.delete(uid);
    this.known.delete(uid);
    if (this.#random.next() < 0.5) return;
    const [manager, pod] = [this.#manager, podWithClaims(uid, names)];
    try {
      await manager.unprepare(pod, this.#stop.signal);
      if (manager.holdsClaims(uid, pod)) this.faults.push(`${uid} has claims after it has terminated`);
    } catch {
      // The claims are unprepared in the reconcile loop.
    }
  }

  /** Simulates the driver's faults: an error, a long delay or a hang. @returns the driver's error, or an empty text */
  async #trouble(signal: AbortSignal): Promise<string> {
    const choice = this.#calm || signal.aborted ? 1 : this.#random.next();
    if (choice < 0.05)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('late'))));
    if (choice < 0.3) await new Promise<void>((resolve) => this.clock.setTimer(this.#random.next() * 30_000, resolve));
    return choice > 0.3 && choice < 0.45 ? 'busy' : '';
  }

  #pick(from: ReadonlyMap<string, unknown>): string | undefined {
    const all = [...from.keys()];
    return all[Math.floor(this.#random.next() * all.length)];
  }
}

function podWithClaims(uid: string, names: readonly string[]): Pod {
  return podOf(uid, { resourceClaims: names.map((name) => ({ name, resourceClaimName: name })) });
}

it('N11, K1: no device is given to two pods or taken from a running pod, whichever call fails and whenever the kubelet is killed', async () => {
  let started = 0;
  for (let seed = 1; seed <= 150; seed++) {
    const node = new Node(seededRandom(seed));
    await node.start();
    for (let step = 0; step < STEPS; step++) {
      await node.step();
      started = Math.max(started, node.running.size);
    }
    expect({ seed, faults: node.faults }).toEqual({ seed, faults: [] });
    expect({ seed, left: await node.end(), faults: node.faults }).toEqual({ seed, left: [], faults: [] });
    node.restart();
  }
  // At least some pods must have run at the same time. Otherwise the test would prove nothing.
  expect(started).toBeGreaterThan(2);
}, 120_000);
