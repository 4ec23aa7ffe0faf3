import {
  type Clock,
  checkComponents,
  checkOptions,
  jitter,
  type Random,
  StartOnce,
  sleep,
  untilNextMs,
  withTimeout,
} from '@node-agent/async';
import { compareResourceVersions } from '@node-agent/kube-client';
import { type EventRecorder, type Logger, type Metrics, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { NodeStatusError, reasonOf } from './errors.ts';
import { foreignWriter } from './identity.ts';
import { initialNode, withRequiredLabels } from './initial-node.ts';
import { conditionOf, type Node } from './node.ts';
import { nodeEvents, recordNodeEvents, schedulableEvent } from './node-events.ts';
import { NodeFactCollector, type NodeFactSources } from './node-facts.ts';
import { hasNodeChanged, nodePatch } from './node-patch.ts';
import { NodeRegistrar } from './node-registrar.ts';
import { type NodeStatusOptions, type NodeStatusSettings, settingsOf } from './options.ts';
import type { NodeClient } from './ports.ts';
import { isReportDue, type LastReport, nextReportDelayMs } from './report-schedule.ts';
import { type NodeFacts, setNodeStatus } from './set-node-status.ts';
import { StartupMetrics } from './startup-metrics.ts';

/** The components of a {@link NodeStatusManager}. */
export interface NodeStatusComponents {
  readonly nodes: NodeClient;
  readonly sources: NodeFactSources;
  /** Default: the system clock. */
  readonly clock?: Clock;
  /** Default: the system's random source. */
  readonly random?: Random;
  /** Default: no logging. */
  readonly logger?: Logger;
  /** Default: no metrics. */
  readonly metrics?: Metrics;
  /** Default: events are not recorded. */
  readonly recorder?: EventRecorder;
  /** Passes the node's pod CIDRs, separated by commas, to the runtime. */
  readonly onPodCidr?: (cidr: string, signal: AbortSignal) => Promise<void>;
  /** Called with the volumes in use that the API server has stored, so that the volume manager knows them. */
  readonly onVolumesReported?: (names: readonly string[]) => void;
  /**
   * Called with the names of removed device resources after the API server has stored a Node status without them. The
   * device manager can then forget them.
   */
  readonly onDevicesReported?: (removed: readonly string[]) => void;
  /**
   * Called when the node was created, may have been created by a request whose response was lost, or is another one of
   * the same name. Data that was read earlier may come from a data store that the server has lost.
   */
  readonly onCreated?: () => void;
  /** Called from the second consecutive failed status update on, so that the caller can close connections that hang. */
  readonly onRepeatedHeartbeatFailure?: () => void;
}

const MAX_ATTEMPTS = 5;
const PERIOD_JITTER = 0.04;
// After a start, the node's state is checked ten times a second until the node is ready, for at most 30 s
// (fastStatusUpdateOnce).
const STARTING_MS = 30_000;
const STARTING_LOOK_MS = 100;
/**
 * The minimum time between two status updates, in milliseconds, however often {@link NodeStatusManager.wake} is called.
 */
const SPACING_MS = 100;
const LOOK_MS = 1_000;
/**
 * How long after a start a node that was ready stays ready while components start, in milliseconds, so that a restart
 * does not toggle the condition.
 */
const SETTLE_MS = 10_000;

/**
 * Maintains the Node object in the API: registers it, and writes its status immediately when it changed, and at least
 * every `reportFrequencyMs`. A deleted node is registered again. Slow sources do not delay the rest of the status (N6).
 * The lease is maintained by `NodeLease`. (`kubelet_node_status.go`)
 */
export class NodeStatusManager {
  readonly #components: WithDefaults<NodeStatusComponents>;
  #settings: NodeStatusSettings;
  readonly #facts: NodeFactCollector;
  readonly #registrar: NodeRegistrar;
  readonly #startup: StartupMetrics;
  #registered = false;
  /** Whether the manager has stopped waiting for the node to become ready for the first time. */
  #started = false;
  #wake: (() => void) | undefined;
  #woken = false;
  #startedAtMs = 0;
  #ended: Promise<void> = Promise.resolve();
  #report: LastReport | undefined;
  /** The node as this manager last wrote it. */
  #written: Node | undefined;
  #node: Node | undefined;
  #unschedulable = false;
  #podCidr = '';
  #conflict: string | undefined;
  readonly #startOnce = new StartOnce('NodeStatusManager');

  constructor(given: NodeStatusComponents, options: NodeStatusOptions) {
    checkOptions('NodeStatusManager', options, {
      nodeName: 'string',
      hostname: 'string',
      kubeletVersion: 'string',
      architecture: 'string',
      operatingSystem: 'string?',
      registerNode: 'boolean?',
      nodeLabels: 'object?',
      taints: 'list?',
      providerId: 'string?',
      externalCloudProvider: 'boolean?',
      enableControllerAttachDetach: 'boolean?',
      nodeIps: 'list?',
      maxPods: 'count?',
      podsPerCore: 'count?',
      reservations: 'object?',
      localStorageCapacityIsolation: 'boolean?',
      maxImages: 'whole?',
      kubeletPort: 'port?',
      gateEnabled: 'function?',
      resetExtendedResources: 'function?',
      updateFrequencyMs: 'positive?',
      reportFrequencyMs: 'positive?',
      requestTimeoutMs: 'positive?',
      factPatienceMs: 'notNegative?',
      uptimeMs: 'notNegative?',
    });
    checkComponents('NodeStatusManager', given, {
      nodes: ['getNode', 'createNode', 'patchNodeStatus'],
      sources: ['machine', 'network', 'runtimeVersion', 'images', 'readiness'],
    });
    const components = withDefaults(given);
    this.#components = components;
    this.#settings = settingsOf(options);
    const { clock, logger, metrics } = components;
    this.#facts = new NodeFactCollector(components, { patienceMs: this.#settings.factPatienceMs });
    this.#registrar = new NodeRegistrar({ nodes: components.nodes, clock, logger }, this.#settings);
    const { nodeName, uptimeMs } = this.#settings;
    this.#startup = new StartupMetrics(metrics, nodeName, clock.monotonic(), uptimeMs);
  }

  /** The node as last read or written. The value is `undefined` before the node is registered. */
  get node(): Node | undefined {
    return this.#node;
  }

  /**
   * The last sign that another machine uses this node's name, since this kubelet started. The value is `undefined` if
   * there was no such sign.
   */
  get conflict(): string | undefined {
    return this.#conflict;
  }

  /** Returns the node as it would be registered now, without the API server. @throws the signal's reason */
  async localNode(signal: AbortSignal): Promise<Node> {
    return this.#withStatus(initialNode(this.#settings), await this.#facts.collect(signal));
  }

  /**
   * Changes the number of pods that the node reports, and writes the status now.
   * @throws RangeError that names the invalid limit; in that case, nothing is changed
   */
  setPodLimits(limits: Pick<NodeStatusOptions, 'maxPods' | 'podsPerCore'>): void {
    this.#settings = settingsOf({ ...this.#settings, ...limits });
    this.wake();
  }

  /** Notifies the manager that a source has changed, so that the status is written now instead of at the next check. */
  wake(): void {
    this.#woken = true;
    this.#wake?.();
  }

  /**
   * Notifies the manager that the node does not exist on the API server, so that it is registered now instead of at the
   * next check.
   */
  registerAgain(): void {
    if (!this.#registered) return;
    this.#registered = false;
    this.wake();
  }

  /** Runs until `signal` is aborted. */
  async start(signal: AbortSignal): Promise<void> {
    this.#startOnce.begin();
    this.#ended = this.#run(signal);
    await this.#ended;
  }

  /** Waits until the current round has ended, after the signal of {@link start} was aborted. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ended;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#components;
    this.#startedAtMs = clock.monotonic();
    try {
      // The runtime is checked first; otherwise the first status would report that the runtime is down.
      await this.#facts.checkRuntime(signal);
      while (!signal.aborted) {
        await this.#round(signal).catch(async (error: unknown) => {
          signal.throwIfAborted();
          logger.error({ err: error }, 'Unable to compute the node status');
          await sleep(clock, LOOK_MS, signal);
        });
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Runs one round of the main loop: writes the status, then waits until the next round is due. */
  async #round(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#components;
    const seen = this.#facts.fingerprint();
    this.#woken = false;
    await this.#sync(signal).catch((error: unknown) => {
      signal.throwIfAborted();
      logger.error({ err: error }, 'Unable to update node status');
    });
    const dueMs = clock.monotonic() + jitter(random, this.#settings.updateFrequencyMs, PERIOD_JITTER);
    await sleep(clock, SPACING_MS, signal);
    if (this.#report !== undefined && isReady(this.#node)) this.#started = true;
    const lookUntilMs = Math.min(this.#startedAtMs + STARTING_MS, dueMs);
    while (!this.#started && !this.#woken && clock.monotonic() < lookUntilMs) {
      await this.#lookWhileStarting(signal);
    }
    await this.#waitForChange(seen, dueMs, signal);
  }

  /** Checks the runtime, and wakes the manager when the node becomes ready for the first time. */
  async #lookWhileStarting(signal: AbortSignal): Promise<void> {
    await this.#pause(STARTING_LOOK_MS, signal);
    await this.#facts.checkRuntime(signal);
    if (!this.#facts.ready()) return;
    this.#started = true;
    this.#woken = true;
  }

  /** Waits until the next round is due, the manager is woken, or the fingerprint changes. */
  async #waitForChange(seen: string, dueMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#components;
    for (let leftMs = dueMs - clock.monotonic(); leftMs > 0 && !this.#woken; leftMs = dueMs - clock.monotonic()) {
      await this.#pause(Math.min(leftMs, untilNextMs(clock.monotonic(), LOOK_MS)), signal);
      if (this.#facts.fingerprint() !== seen) return;
    }
  }

  /** Resolves after `ms`, or when {@link wake} is called. @throws the signal's reason */
  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', end);
        this.#wake = undefined;
        if (signal.aborted) reject(signal.reason);
        else resolve();
      };
      const timer = this.#components.clock.setTimer(ms, end);
      this.#wake = end;
      signal.addEventListener('abort', end);
    });
  }

  /**
   * Updates the node's status, with up to five attempts without delay (updateNodeStatus). The first attempt may use a
   * cached node.
   */
  async #sync(signal: AbortSignal): Promise<void> {
    const { logger, onRepeatedHeartbeatFailure } = this.#components;
    let last: unknown;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (this.#settings.registerNode && !this.#registered) await this.#register(signal);
      try {
        await this.#tryUpdate(attempt > 0, signal);
        return;
      } catch (error) {
        signal.throwIfAborted();
        last = error;
        // The cache of the first attempt may not have a new node yet. If the server itself reports NotFound, the node
        // was deleted.
        if (attempt > 0 && reasonOf(error) === 'NotFound') this.#registered = false;
        if (attempt > 0) onRepeatedHeartbeatFailure?.();
        logger.error({ err: error, attempt }, 'Error updating node status, will retry');
      }
    }
    throw new NodeStatusError('UpdateFailed', 'update node status exceeds retry count', { cause: last });
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { clock, recorder } = this.#components;
    const { nodeName } = this.#settings;
    this.#startup.registrationAttempted(clock.monotonic());
    const initial = initialNode(this.#settings);
    const known = this.#node?.metadata.uid;
    const registration = await this.#registrar.register((limit) => this.localNode(limit), signal);
    const { node, created, mayBeNew, conflict } = registration;
    const isAnother = known !== undefined && node.metadata.uid !== known;
    this.#registered = true;
    this.#written = node;
    this.#node = node;
    this.#reportConflict(conflict);
    if (created || mayBeNew || isAnother) this.#components.onCreated?.();
    if (!created) return;
    this.#startup.nodeCreated(clock.monotonic());
    recordNodeEvents(recorder, nodeName, nodeEvents(nodeName, initial, node));
  }

  async #tryUpdate(fresh: boolean, signal: AbortSignal): Promise<void> {
    const { clock, random, recorder, nodes } = this.#components;
    const { nodeName, reportFrequencyMs } = this.#settings;
    const original = await this.#read(fresh, signal);
    const cidrChanged = this.#takePodCidr(original, signal);
    const facts = await this.#facts.collect(signal);
    const node = this.#withStatus(withRequiredLabels(original, this.#settings), facts);
    const changed = cidrChanged || hasNodeChanged(original, node);
    this.#takeSchedulable(original);
    this.#node = original;
    const settling = this.#report === undefined && clock.monotonic() - this.#startedAtMs < SETTLE_MS;
    if (settling && isReady(original) && !isReady(node)) return;
    if (!changed && !isReportDue(this.#report, clock.monotonic(), reportFrequencyMs)) {
      this.#reported(original, facts);
      return;
    }
    const delayMs = nextReportDelayMs(changed, this.#report === undefined, reportFrequencyMs, random);
    const patch = nodePatch(original, node);
    const written =
      patch === undefined
        ? original
        : await this.#call((limit) => nodes.patchNodeStatus(nodeName, patch, limit), signal);
    this.#report = { atMs: clock.monotonic(), delayMs };
    this.#written = written;
    this.#node = written;
    if (isReady(written)) this.#startup.nodeReady(clock.monotonic());
    recordNodeEvents(recorder, nodeName, nodeEvents(nodeName, original, node));
    this.#reported(written, facts);
  }

  /** Notifies the volume and device managers that the API server has stored a status with these facts. */
  #reported({ status }: Node, { devicePlugins }: NodeFacts): void {
    const { onVolumesReported, onDevicesReported } = this.#components;
    onVolumesReported?.(status?.volumesInUse ?? []);
    const removed = devicePlugins?.removed ?? [];
    if (removed.length > 0) onDevicesReported?.(removed);
  }

  async #read(fresh: boolean, signal: AbortSignal): Promise<Node> {
    const { nodes } = this.#components;
    const get = (now: boolean): Promise<Node> =>
      this.#call((limit) => nodes.getNode(this.#settings.nodeName, { fresh: now }, limit), signal);
    const seen = await get(fresh);
    if (this.#written === undefined) return seen;
    // An outdated cached node is not used: with it, the last write would be repeated, or seem to be another kubelet's.
    const isDoubtful = isOlder(seen, this.#node) || foreignWriter(this.#written, seen) !== undefined;
    const newest = isDoubtful && !fresh ? await get(true) : seen;
    this.#reportConflict(foreignWriter(this.#written, newest));
    return newest;
  }

  /** Logs and records an event that two machines use the same node name. Repeated only if the reason changes. */
  #reportConflict(conflict: string | undefined): void {
    const { recorder, logger } = this.#components;
    const { nodeName } = this.#settings;
    if (conflict === undefined || conflict === this.#conflict) return;
    this.#conflict = conflict;
    logger.error({ node: nodeName, conflict }, 'Another machine uses the name of this node');
    recordNodeEvents(recorder, nodeName, [{ type: 'Warning', reason: 'NodeNameConflict', message: conflict }]);
  }

  /** Passes a new pod CIDR to the runtime without waiting for it (N6). A rejected CIDR is passed again later. */
  #takePodCidr(node: Node, signal: AbortSignal): boolean {
    const cidr = (node.spec?.podCIDRs ?? []).join(',');
    if (cidr === '' || cidr === this.#podCidr) return false;
    const { onPodCidr, logger } = this.#components;
    this.#podCidr = cidr;
    this.#call(async (limit) => onPodCidr?.(cidr, limit), signal).catch((error: unknown) => {
      if (this.#podCidr === cidr) this.#podCidr = '';
      if (!signal.aborted) logger.error({ err: error, cidr }, 'Error updating pod CIDR');
    });
    return true;
  }

  #takeSchedulable(node: Node): void {
    const unschedulable = node.spec?.unschedulable ?? false;
    if (unschedulable === this.#unschedulable) return;
    this.#unschedulable = unschedulable;
    const { nodeName } = this.#settings;
    recordNodeEvents(this.#components.recorder, nodeName, [schedulableEvent(nodeName, unschedulable)]);
  }

  #withStatus(node: Node, facts: Parameters<typeof setNodeStatus>[1]): Node {
    const outcome = setNodeStatus(node, facts, this.#settings, this.#components.clock.now());
    for (const problem of outcome.problems) {
      this.#components.logger.error({ err: problem }, 'Failed to set some node status fields');
    }
    return outcome.node;
  }

  #call<T>(request: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    return withTimeout(this.#components.clock, this.#settings.requestTimeoutMs, request, signal);
  }
}

/**
 * Reports whether a node is older than the node that was last read or written. Returns false if the resource versions
 * cannot be compared.
 */
function isOlder(read: Node, last: Node | undefined): boolean {
  const [a = '', b = ''] = [read, last].map((node) => node?.metadata.resourceVersion);
  return (compareResourceVersions(a, b) ?? 0) < 0;
}

function isReady(node: Node | undefined): boolean {
  return node !== undefined && conditionOf(node, 'Ready')?.status === 'True';
}
