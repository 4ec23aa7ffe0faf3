import { Agent, request } from 'node:https';
import type { Attack, Bounds, Observation } from './attack.ts';
import { Connections, delay } from './connections.ts';
import { TOKEN } from './token.ts';
import { Victim } from './victim.ts';

/** A row of the table. */
export interface Result {
  readonly attack: string;
  readonly input: string;
  readonly did: string;
  readonly descriptorsBefore: number;
  readonly descriptorsAfter: number;
  /** Longest stall of the victim's event loop. `undefined` if the victim no longer responds. */
  readonly longestStallMs: number | undefined;
  readonly served: number;
  readonly notServed: number;
  /** Reasons for which the attack succeeded. The list is empty if the attack did not succeed. */
  readonly successes: readonly string[];
}

/**
 * Maximum stall of the event loop. A longer stall makes an attack a success, because probes and heartbeats of a node
 * tolerate no more.
 */
const MOST_STALL_MS = 2000;
/** Time that the victim has to close what the attack has left open, in milliseconds. */
const SETTLE_MS = 8000;
/**
 * Number of descriptors that the victim may open for its own work during the attack: files that it reads, a worker
 * thread and its event loop.
 */
const OWN_DESCRIPTORS = 10;

/** Runs an attack on a new victim. */
export async function runAttack(attack: Attack, bounds: Bounds): Promise<Result> {
  await using victim = await Victim.start();
  return await attackVictim(victim, attack, bounds);
}

/** Runs an attack on a victim that earlier attacks may have used. */
export async function attackVictim(victim: Victim, attack: Attack, bounds: Bounds): Promise<Result> {
  const client = new WellBehavedClient(victim.port);
  await client.askOnce();
  await victim.figures();
  const descriptorsBefore = await victim.descriptors();
  const connections = new Connections();
  const controller = new AbortController();
  const asking = client.askUntil(controller.signal);
  const observation = await observe(attack, victim, connections, bounds);
  await connections.close();
  const descriptorsAfter = await settled(victim, descriptorsBefore);
  const figures = await victim.figures();
  controller.abort();
  await asking;
  client.close();
  const longestStallMs = figures?.longestStallMs;
  const successes = successesOf({
    observation,
    isAlive: victim.isAlive,
    longestStallMs,
    leaked: descriptorsAfter - descriptorsBefore,
    notServed: client.notServed > 0 ? client.lastProblem : undefined,
  });
  const { served, notServed } = client;
  const { name, input } = attack;
  const { did } = observation;
  return {
    attack: name,
    input,
    did,
    descriptorsBefore,
    descriptorsAfter,
    longestStallMs,
    served,
    notServed,
    successes,
  };
}

/** Observations after an attack, which decide whether the attack succeeded. */
interface Outcome {
  readonly observation: Observation;
  readonly isAlive: boolean;
  /** Longest stall of the victim's event loop. `undefined` if the victim does not respond. */
  readonly longestStallMs: number | undefined;
  /** Number of descriptors that the victim has in addition to those before the attack. */
  readonly leaked: number;
  /** Reason for which a well-behaved client was not served. `undefined` if the client was always served. */
  readonly notServed: string | undefined;
}

/** Returns the reasons why an attack has succeeded. The list is empty if the victim withstood the attack. */
export function successesOf({ observation, isAlive, longestStallMs, leaked, notServed }: Outcome): readonly string[] {
  const stalled = longestStallMs !== undefined && longestStallMs > MOST_STALL_MS;
  return [
    observation.success,
    !isAlive && 'the victim died',
    isAlive && longestStallMs === undefined && 'the victim does not answer',
    stalled && `the event loop stood still for ${longestStallMs} ms`,
    leaked > OWN_DESCRIPTORS && `${leaked} descriptors were left`,
    notServed !== undefined && `a well-behaved client was not served: ${notServed}`,
  ].filter((success): success is string => typeof success === 'string');
}

async function observe(
  attack: Attack,
  victim: Victim,
  connections: Connections,
  { share, timeoutMs }: Bounds,
): Promise<Observation> {
  const signal = AbortSignal.timeout(timeoutMs);
  const count = (whole: number): number => Math.max(1, Math.round(whole * share));
  const late = new Promise<Observation>((resolve) => {
    const did = `no end within ${timeoutMs} ms`;
    signal.addEventListener('abort', () => resolve({ did, success: did }), { once: true });
  });
  const failed = (error: unknown): Observation => {
    const did = `the attack failed: ${error instanceof Error ? error.message : String(error)}`;
    return { did, success: did };
  };
  return await Promise.race([attack.run({ victim, connections, count, signal }).catch(failed), late]);
}

/**
 * Waits until the victim has no more descriptors than before, but at most `SETTLE_MS`.
 * @returns the number of descriptors
 */
async function settled(victim: Victim, before: number): Promise<number> {
  const deadline = performance.now() + SETTLE_MS;
  for (;;) {
    const now = await victim.descriptors();
    if (now <= before || performance.now() > deadline) return now;
    await delay(50);
  }
}

/** Requests the pods repeatedly, alternating between one kept connection and new connections. */
class WellBehavedClient {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
  served = 0;
  notServed = 0;
  lastProblem = '';

  constructor(port: number) {
    this.#port = port;
  }

  async askUntil(signal: AbortSignal): Promise<void> {
    for (let turn = 0; !signal.aborted; turn++) {
      await this.askOnce(turn % 2 === 0);
      await delay(50);
    }
  }

  async askOnce(isKept = true): Promise<void> {
    try {
      const status = await this.#ask(isKept ? this.#agent : new Agent({ rejectUnauthorized: false }));
      if (status !== 200) throw new Error(`status ${status}`);
      this.served++;
    } catch (error) {
      this.notServed++;
      this.lastProblem = error instanceof Error ? error.message : String(error);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #ask(agent: Agent): Promise<number> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${TOKEN}` };
      const asked = request(
        { host: '127.0.0.1', port: this.#port, path: '/pods', agent, headers, timeout: 10_000 },
        (response) => {
          response.resume().on('end', () => resolve(response.statusCode ?? 0));
          response.on('error', reject);
        },
      );
      asked.on('timeout', () => asked.destroy(new Error('no answer within 10 s')));
      asked.on('error', reject);
      asked.end();
    });
  }
}
