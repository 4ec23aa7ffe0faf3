import { type Random, Semaphore, seededRandom } from '@node-agent/async';
import { FakeClock } from '@node-agent/async/testing';
import { MemorySockets } from '@node-agent/grpc/testing';
import { MemoryFileSystem } from '@node-agent/host/testing';
import { expect, it } from 'vitest';
import { DraManager, type ResourceClaim } from '../src/index.ts';
import { type FakeClaim, FakeDraPlugin } from '../src/testing.ts';
import { claimOf, DRIVER, deviceOf, podWithClaim } from './builders.ts';

const SOCKET = '/plugins/gpu.sock';
const DEVICES = 2;
const STEPS = 60;

/**
 * A node on which the driver may fail, hang or be deregistered, the disk may be full, and the kubelet may be killed.
 */
class Node {
  readonly clock = new FakeClock();
  readonly #random: Random;
  readonly #fs = new MemoryFileSystem({ clock: this.clock });
  readonly #sockets = new MemorySockets();
  readonly #claims = new Map<string, ResourceClaim>();
  /** Name of the claim of each pod whose containers may run, by pod UID. */
  readonly running = new Map<string, string>();
  /** Name of the claim of each pod that the kubelet knows, by pod UID. */
  readonly known = new Map<string, string>();
  readonly faults: string[] = [];
  readonly #plugin: FakeDraPlugin;
  #manager!: DraManager;
  #stop = new AbortController();
  #isDiskFull = false;
  #serial = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#plugin = new FakeDraPlugin({
      socketPath: SOCKET,
      transport: this.#sockets,
      prepare: this.#inTurn(async ({ name }, signal) => {
        const outcome = await this.#trouble(signal);
        if (outcome !== '') return { error: outcome };
        const device = this.deviceOf(name);
        for (const [pod, other] of this.running) {
          if (other !== name && this.deviceOf(other) === device)
            this.faults.push(`${device} of ${pod} goes to ${name}`);
        }
        return { devices: [{ poolName: 'node', deviceName: device, cdiDeviceIds: [`example.com/gpu=${device}`] }] };
      }),
      unprepare: this.#inTurn(async ({ name, uid }, signal) => {
        const outcome = await this.#trouble(signal);
        for (const [pod, claim] of this.running) if (claim === name) this.faults.push(`${name} is taken from ${pod}`);
        // A driver that reports a failure may nevertheless have unprepared the claim.
        if (outcome !== '' && this.#random.next() < 0.5) this.#plugin.prepared.delete(uid);
        return { error: outcome };
      }),
    });
  }

  async start(): Promise<void> {
    await this.#plugin.start();
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
    else if (choice < 9) this.#toggleDriver();
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
    return [...this.#plugin.prepared];
  }

  check(): void {
    for (const [pod, claim] of this.running) {
      if (!this.#plugin.prepared.has(`uid-${claim}`)) this.faults.push(`${claim} of ${pod} is not prepared`);
    }
  }

  deviceOf(claim: string): string {
    return this.#claims.get(claim)?.status?.allocation?.devices?.results?.[0]?.device ?? '';
  }

  /** Wraps a handler so that calls are handled one after another, as in the library for DRA drivers. */
  #inTurn<T>(
    handle: (claim: FakeClaim, signal: AbortSignal) => Promise<T>,
  ): (claim: FakeClaim, signal: AbortSignal) => Promise<T> {
    return (claim, signal) => this.#turns.run(() => handle(claim, signal));
  }

  readonly #turns = new Semaphore(1);
  #calm = false;
  #isRegistered = false;

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
          active: () => [...this.known].map(([uid, claim]) => podWithClaim(uid, claim)),
          mayRun: (uid) => this.running.has(uid),
          sourcesReady: () => true,
        },
      },
      { directory: '/root' },
    );
    void this.#manager.start(this.#stop.signal);
    this.#isRegistered = false;
    this.#toggleDriver();
  }

  #toggleDriver(): void {
    if (this.#isRegistered) this.#manager.deregisterPlugin(DRIVER, SOCKET);
    else this.#manager.registerPlugin(DRIVER, SOCKET, ['v1.DRAPlugin']);
    this.#isRegistered = !this.#isRegistered;
  }

  /** Creates a pod. Its claim is either new, with a random device, or the claim of another pod. */
  #newPod(): string {
    const uid = `pod-${this.#serial++}`;
    const shared = this.#random.next() < 0.3 ? this.#pick(this.known) : undefined;
    const name = (shared && this.known.get(shared)) ?? `claim-${uid}`;
    const users = [...this.known].flatMap(([pod, claim]) => (claim === name ? [pod] : []));
    const device = this.deviceOf(name) || `gpu-${Math.floor(this.#random.next() * DEVICES)}`;
    this.#claims.set(name, claimOf(name, [deviceOf(device)], [...users, uid]));
    this.known.set(uid, name);
    return uid;
  }

  async #startPod(uid: string): Promise<void> {
    const name = this.known.get(uid);
    if (name === undefined || this.running.has(uid)) return;
    const { signal } = this.#stop;
    try {
      await this.#manager.prepare(podWithClaim(uid, name), signal);
      // A kubelet that was killed meanwhile does not start the container.
      if (!signal.aborted && this.known.has(uid)) this.running.set(uid, name);
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
    const name = uid && this.known.get(uid);
    if (uid === undefined || name === undefined) return;
    this.running.delete(uid);
    this.known.delete(uid);
    if (this.#random.next() < 0.5) return;
    await this.#manager.unprepare(podWithClaim(uid, name), this.#stop.signal)?.catch(() => {});
  }

  /** Simulates the driver's faults: an error, a long delay or a hang. @returns the driver's error, or an empty text */
  async #trouble(signal: AbortSignal): Promise<string> {
    const choice = this.#calm || signal.aborted ? 1 : this.#random.next();
    if (choice < 0.05)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('late'))));
    if (choice < 0.3) await new Promise<void>((resolve) => this.clock.setTimer(this.#random.next() * 30_000, resolve));
    return choice > 0.3 && choice < 0.45 ? 'busy' : '';
  }

  #pick(from: ReadonlyMap<string, string>): string | undefined {
    const all = [...from.keys()];
    return all[Math.floor(this.#random.next() * all.length)];
  }
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
