import { checkComponents, checkOptions } from '@node-agent/async';
import { errorText, type WithDefaults, withDefaults } from '@node-agent/telemetry';
import { cadvisorMetrics } from './cadvisor-metrics.ts';
import { CpuRates } from './cpu-rates.ts';
import { StatsError } from './errors.ts';
import { expositionText, type MetricFamily } from './exposition.ts';
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
/** As often as cAdvisor looks what the machine is (`update_machine_info_interval`). */
const MACHINE_AGE_MS = 300_000;

/**
 * The figures of a node, its pods and containers (`pkg/kubelet/stats`, `pkg/kubelet/server/stats`): CPU, memory and network from
 * cgroups and `/proc`, writable layers and images from the container runtime. Nothing is read that nobody has asked for, and
 * one collection serves all that ask within its age.
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

  /** @throws OptionsError naming the component or option that is wrong */
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
   * What `/stats/summary` shows. @param wanted `fresh`: nothing that was read before this call
   * @throws StatsError `Unavailable` where a part is missing that there is no summary without; AsyncError `Timeout`
   */
  async summary(wanted: Wanted, signal: AbortSignal): Promise<NodeSummary> {
    return await this.#summaries.summary.get(wanted, signal);
  }

  /** The same of the node alone, without its pods: it costs the same however many there are. @throws as {@link summary} */
  async nodeSummary(wanted: Wanted, signal: AbortSignal): Promise<NodeSummary> {
    return await this.#summaries.node.get(wanted, signal);
  }

  /** The machine's memory (`MemTotal`) in bytes, as the last summary has found it; `undefined` before the first one. */
  machineMemoryBytes(): number | undefined {
    return this.#memoryBytes;
  }

  /** The same with CPU and memory alone, which takes much less. @throws as {@link summary} */
  async resourceSummary(wanted: Wanted, signal: AbortSignal): Promise<NodeSummary> {
    const known = wanted.fresh ? undefined : (this.#groups.resource.peek() ?? this.#groups.summary.peek());
    const groups = known ?? (await this.#groups.resource.get(wanted, signal));
    return resourceSummary(groups, this.#context());
  }

  /** The text of `/metrics/resource`. What could not be read is told there, not thrown. */
  async resourceMetrics(signal: AbortSignal): Promise<string> {
    const summary = await this.#orNone('/metrics/resource', this.resourceSummary({}, signal), signal);
    return expositionText(resourceMetrics(summary));
  }

  /** The text of `/metrics/cadvisor`. What could not be read is told there, not thrown. */
  async cadvisorMetrics(signal: AbortSignal): Promise<string> {
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
    return expositionText(preferring(ofRuntime, own));
  }

  /** What `/metrics` tells of pods: the logs of containers and the volumes of claims; nothing where no summary is to be had. */
  async podMetrics(signal: AbortSignal): Promise<readonly MetricFamily[]> {
    const summary = await this.#orNone('/metrics', this.summary({}, signal), signal);
    return podMetrics(summary?.pods ?? []);
  }

  /**
   * Measures the writable layers of running containers now, as far as that can be done here: what the runtime tells of them may be ten
   * seconds old and more. Summaries that are asked for later tell what was found. It takes the longer the more is in them.
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
    // Its own age is what counts: those who want a fresh one have been told apart by then.
    const groups = await this.#groups[detail].get({ fresh: true }, signal);
    this.#memoryBytes = groups.memoryBytes ?? this.#memoryBytes;
    const pods = groups.pods.status === 'fulfilled' ? groups.pods.value : undefined;
    const places = new Set(
      [...(pods?.containers.values() ?? [])].flatMap(({ writableLayer }) => writableLayer?.fsId?.mountpoint ?? []),
    );
    const parts = { ...this.#components, reads: this.#reads, runtime: this.#runtime };
    const storage = await collectStorage(parts, this.#options, pods?.pods ?? [], places, signal);
    return fullSummary(groups, storage, this.#context());
  }

  async #collect(detail: Detail, signal: AbortSignal): Promise<GroupCollection> {
    const readers = await this.#readers();
    const parts = { ...readers, reads: this.#reads, runtime: this.#runtime, rates: this.#rates };
    return await collectGroups(parts, this.#options, detail, signal);
  }

  /** Where the machine has its groups does not change; where that could not be told, it is asked again. */
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

  /** CPUs and memory are plugged rarely enough. What could not be read is read again by the next who asks. */
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
      this.#components.logger.error({ err }, `Error getting figures for ${what}`);
      return undefined;
    }
  }

  #context() {
    const { volumeUsage = () => [] } = this.#components;
    const layers = this.#layers?.measured ?? new Map();
    return { nodeName: this.#options.nodeName, startedAtMs: this.#startedAtMs, volumeUsage, layers };
  }
}

interface Readers {
  readonly reader: GroupReader;
  readonly processes: ProcessReader;
}
