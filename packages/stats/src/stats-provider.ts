import { checkComponents, checkOptions } from '@node-agent/async';
import { errorText, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { cadvisorMetrics } from './cadvisor-metrics.ts';
import { CpuRates } from './cpu-rates.ts';
import { StatsError } from './errors.ts';
import { expositionPortions, type MetricFamily } from './exposition.ts';
import { deviceNames, readFileSystems } from './file-systems.ts';
import { collectGroups, type GroupCollection } from './group-collection.ts';
import type { Detail } from './group-figures.ts';
import { GroupReader } from './group-reader.ts';
import { KernelReads } from './kernel-reads.ts';
import { type MachineFigures, readMachineFigures } from './machine-figures.ts';
import { fullSummary, resourceSummary } from './node-summary.ts';
import { kubepodsOf, readPodGroups } from './pod-groups.ts';
import { podMetrics } from './pod-metrics.ts';
import type { StatsComponents, StatsOptions } from './ports.ts';
import { ProcessReader } from './process-reader.ts';
import { resourceMetrics } from './resource-metrics.ts';
import { preferring } from './runtime-metrics.ts';
import { RuntimeReader } from './runtime-reader.ts';
import { SharedCollection, type Wanted } from './shared-collection.ts';
import { collectStorage } from './storage-collection.ts';
import type { NodeSummary } from './summary.ts';
import { WritableLayers } from './writable-layers.ts';

const DEFAULT_MAX_AGE_MS = 5000;
const DEFAULT_DEADLINE_MS = 20_000;
/** Period of reading the machine description; equal to cAdvisor's `update_machine_info_interval`. */
const MACHINE_AGE_MS = 300_000;

/**
 * Stats of a node, its pods and containers (`pkg/kubelet/stats`, `pkg/kubelet/server/stats`): CPU, memory and network
 * from cgroups and `/proc`, writable layers and images from the container runtime. Data is only read on request, and
 * one collection is reused for all requests within its maximum age.
 */
export class StatsProvider {
  readonly #components: WithDefaults<StatsComponents>;
  readonly #options: StatsOptions;
  readonly #reads: KernelReads;
  readonly #runtime: RuntimeReader;
  readonly #rates: CpuRates;
  readonly #layers: WritableLayers | undefined;
  readonly #startedAtMs: number;
  readonly #groups: Readonly<Record<Detail, SharedCollection<GroupCollection>>>;
  readonly #summaries: Readonly<Record<'node' | 'summary', SharedCollection<NodeSummary>>>;
  #reader: Promise<Readers> | undefined;
  #memoryBytes: number | undefined;
  #machine: { readonly figures: MachineFigures; readonly readAtMs: number } | undefined;

  /** @throws OptionsError naming the invalid component or option */
  constructor(given: StatsComponents, options: StatsOptions) {
    checkOptions('StatsProvider', options, {
      nodeName: 'string',
      rootDirectory: 'string',
      podLogsDirectory: 'string',
      kubepods: 'any?',
      kubeletCgroups: 'string?',
      runtimeCgroups: 'string?',
      systemCgroups: 'string?',
      fromRuntime: 'boolean?',
      maxAgeMs: 'notNegative?',
      deadlineMs: 'positive?',
    });
    checkComponents('StatsProvider', given, {
      cri: [
        'listContainers',
        'listPodSandbox',
        'listImages',
        'imageFsInfo',
        'podSandboxStatus',
        'listContainerStats',
        'listPodSandboxStats',
        'listMetricDescriptors',
        'listPodSandboxMetrics',
      ],
      fs: ['readdir', 'readFile', 'stat', 'readlink', 'lstat'],
      disks: ['statfs'],
      cgroups: 'function',
    });
    const components = withDefaults(given);
    const { clock } = components;
    const { maxAgeMs = DEFAULT_MAX_AGE_MS, deadlineMs = DEFAULT_DEADLINE_MS } = options;
    this.#components = components;
    this.#options = options;
    this.#reads = new KernelReads(components);
    this.#runtime = new RuntimeReader(components);
    this.#rates = new CpuRates({ clock });
    const { trees } = components;
    this.#layers = trees && new WritableLayers({ ...components, reads: this.#reads, trees });
    this.#startedAtMs = clock.now();
    const groups = (detail: Detail): SharedCollection<GroupCollection> =>
      new SharedCollection(
        { clock },
        { maxAgeMs, deadlineMs },
        {
          collect: (signal) => this.#collect(detail, signal),
          isWhole: ({ pods }) => pods.status === 'fulfilled',
        },
      );
    const ofPods = { summary: groups('summary'), full: groups('full') };
    this.#groups = { resource: groups('resource'), node: groups('node'), ...ofPods };
    const summaries = (detail: 'node' | 'summary'): SharedCollection<NodeSummary> =>
      new SharedCollection(
        { clock },
        { maxAgeMs, deadlineMs: 2 * deadlineMs },
        { collect: (signal) => this.#summarise(detail, signal) },
      );
    this.#summaries = { node: summaries('node'), summary: summaries('summary') };
  }

  /**
   * Returns the data of `/stats/summary`. @param wanted `fresh`: only data that is read after this call
   * @throws StatsError `Unavailable` if a required part is missing; AsyncError `Timeout`
   */
  async summary(wanted: Wanted, signal: AbortSignal): Promise<NodeSummary> {
    return await this.#summaries.summary.get(wanted, signal);
  }

  /**
   * Returns the summary of the node without pods, whose cost does not depend on the number of pods. @throws as {@link
   * summary}
   */
  async nodeSummary(wanted: Wanted, signal: AbortSignal): Promise<NodeSummary> {
    return await this.#summaries.node.get(wanted, signal);
  }

  /** Returns the machine's memory (`MemTotal`) in bytes as of the last summary; `undefined` before the first one. */
  machineMemoryBytes(): number | undefined {
    return this.#memoryBytes;
  }

  /** Returns the summary with CPU and memory only, which costs much less. @throws as {@link summary} */
  async resourceSummary(wanted: Wanted, signal: AbortSignal): Promise<NodeSummary> {
    const known = wanted.fresh ? undefined : (this.#groups.resource.peek() ?? this.#groups.summary.peek());
    const groups = known ?? (await this.#groups.resource.get(wanted, signal));
    return await resourceSummary(groups, this.#context(), signal);
  }

  /**
   * Returns the text of `/metrics/resource`. Failures are reported in the text, not thrown. For a node with many pods,
   * use {@link resourcePortions}, which needs less memory.
   */
  async resourceMetrics(signal: AbortSignal): Promise<string> {
    return await textOf(this.resourcePortions(signal));
  }

  /** Returns the text of {@link resourceMetrics} in UTF-8 and in portions, between which the event loop is served. */
  async *resourcePortions(signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    const summary = await this.#orNone('/metrics/resource', this.resourceSummary({}, signal), signal);
    yield* expositionPortions(resourceMetrics(summary), this.#components, signal);
  }

  /**
   * Returns the text of `/metrics/cadvisor`. Failures are reported in the text, not thrown. For a node with many pods,
   * use {@link cadvisorPortions}: the text has about 17 kB per container.
   */
  async cadvisorMetrics(signal: AbortSignal): Promise<string> {
    return await textOf(this.cadvisorPortions(signal));
  }

  /** Returns the text of {@link cadvisorMetrics} in UTF-8 and in portions, between which the event loop is served. */
  async *cadvisorPortions(signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    const { fs, clock } = this.#components;
    const { fromRuntime = false } = this.#options;
    const told = fromRuntime ? this.#orNone('/metrics/cadvisor', this.#runtime.metrics(signal), signal) : undefined;
    const [groups, machine, fileSystems, partitions, ofRuntime = []] = await Promise.all([
      this.#orNone('/metrics/cadvisor', this.#groups.full.get({}, signal), signal),
      this.#machineFigures(),
      readFileSystems(this.#components, signal),
      fs.readFile('/proc/partitions').catch(() => new Uint8Array()),
      told,
    ]);
    const devices = deviceNames(new TextDecoder().decode(partitions));
    const own = cadvisorMetrics({ machine, groups, fileSystems, devices, nowMs: clock.now() });
    yield* expositionPortions(preferring(ofRuntime, own), { clock }, signal);
  }

  /**
   * Returns the pod families of `/metrics`: logs of containers and volumes of PVCs; none if the summary is unavailable.
   */
  async podMetrics(signal: AbortSignal): Promise<readonly MetricFamily[]> {
    const summary = await this.#orNone('/metrics', this.summary({}, signal), signal);
    return podMetrics(summary?.pods ?? []);
  }

  /**
   * Measures the writable layers of running containers now, as far as possible: the runtime's values may be more than
   * ten seconds old. Later summaries contain the results. The duration grows with the size of the layers.
   * @throws CriError, StatsError `Unavailable`; AsyncError `Timeout`
   */
  async measureLayers(signal: AbortSignal): Promise<void> {
    if (this.#layers === undefined) return;
    const { reader } = await this.#readers();
    const [groups, told] = await Promise.all([
      readPodGroups(reader, kubepodsOf(this.#options)),
      this.#runtime.containerStats(signal),
    ]);
    await this.#layers.measure(reader, groups, told, signal);
  }

  async #summarise(detail: 'node' | 'summary', signal: AbortSignal): Promise<NodeSummary> {
    // The cgroup stats are always read anew, because the age of the summary was already checked before this call.
    const groups = await this.#groups[detail].get({ fresh: true }, signal);
    this.#memoryBytes = groups.memoryBytes ?? this.#memoryBytes;
    const pods = groups.pods.status === 'fulfilled' ? groups.pods.value : undefined;
    const places = new Set(
      [...(pods?.containers.values() ?? [])].flatMap(({ writableLayer }) => writableLayer?.fsId?.mountpoint ?? []),
    );
    const parts = { ...this.#components, reads: this.#reads, runtime: this.#runtime };
    const storage = await collectStorage(parts, this.#options, pods?.pods ?? [], places, signal);
    return await fullSummary(groups, storage, this.#context(), signal);
  }

  async #collect(detail: Detail, signal: AbortSignal): Promise<GroupCollection> {
    const readers = await this.#readers();
    const parts = { ...readers, reads: this.#reads, runtime: this.#runtime, rates: this.#rates };
    return await collectGroups(parts, this.#options, detail, signal);
  }

  /** The cgroup mounts do not change; they are detected again only after a failure. */
  #readers(): Promise<Readers> {
    this.#reader ??= this.#openReaders().catch((err: unknown) => {
      this.#reader = undefined;
      throw new StatsError('Unavailable', `failed to find the cgroups: ${errorText(err)}`, { cause: err });
    });
    return this.#reader;
  }

  async #openReaders(): Promise<Readers> {
    const { clock, cgroups } = this.#components;
    const reads = this.#reads;
    const processes = new ProcessReader({ reads });
    return { processes, reader: new GroupReader({ reads, clock, processes }, await cgroups()) };
  }

  /**
   * Returns the machine description, which is reused for a while because it rarely changes. A failed read is repeated
   * by the next caller.
   */
  async #machineFigures(): Promise<MachineFigures> {
    const { fs, clock } = this.#components;
    const readAtMs = clock.monotonic();
    const known = this.#machine;
    if (known !== undefined && readAtMs - known.readAtMs < MACHINE_AGE_MS) return known.figures;
    const figures = await readMachineFigures(fs);
    if (figures.memoryBytes === 0 || figures.cpus === 0) return known?.figures ?? figures;
    this.#machine = { figures, readAtMs };
    return figures;
  }

  async #orNone<T>(what: string, asked: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
    try {
      return await asked;
    } catch (err) {
      signal.throwIfAborted();
      this.#components.logger.error({ err }, `Error getting stats for ${what}`);
      return undefined;
    }
  }

  #context() {
    const { clock, volumeUsage = () => [] } = this.#components;
    const layers = this.#layers?.measured ?? new Map();
    return { nodeName: this.#options.nodeName, startedAtMs: this.#startedAtMs, volumeUsage, layers, clock };
  }
}

async function textOf(portions: AsyncIterable<Uint8Array>): Promise<string> {
  // No character is divided between two portions.
  const decoder = new TextDecoder();
  let text = '';
  for await (const portion of portions) text += decoder.decode(portion);
  return text;
}

interface Readers {
  readonly reader: GroupReader;
  readonly processes: ProcessReader;
}
