import { type Random, seededRandom } from '@node-agent/async';
import { type Container, type Pod, parseQuantity } from '@node-agent/pod-spec';
import type { DeviceHints, NodeConfig, Sequence, Step } from './sequence.ts';
import { type TopologyShape, topologies } from './topologies.ts';

/** Draws random values from a seeded generator. */
class Draw {
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  chance(probability: number): boolean {
    return this.#random.next() < probability;
  }

  /** Returns an integer from `first` to `last`. */
  integer(first: number, last: number): number {
    return first + Math.trunc(this.#random.next() * (last - first + 1));
  }

  one<T>(values: readonly T[]): T {
    return values[this.integer(0, values.length - 1)] as T;
  }
}

const CPU_OPTIONS = [
  'full-pcpus-only',
  'distribute-cpus-across-numa',
  'align-by-socket',
  'distribute-cpus-across-cores',
  'strict-cpu-reservation',
  'prefer-align-cpus-by-uncorecache',
] as const;

const DEVICE = 'example.com/device';

/** Draws a random sequence. Equal seeds give equal sequences; successive seeds use the topologies in turn. */
export function drawSequence(seed: number): Sequence {
  const draw = new Draw(seed);
  const shape = topologies[seed % topologies.length] as TopologyShape;
  const config = drawConfig(draw, shape);
  // The pods of a slow sequence request no huge pages: upstream tries each combination of the hints of all resources,
  // which takes minutes for three resources with 255 hints each.
  const isSlow = shape.nodes.length > 4 && ['best-effort', 'restricted'].includes(config.topologyManagerPolicy);
  const machine = isSlow ? { ...shape, nodes: shape.nodes.map((node) => ({ ...node, hugePages: {} })) } : shape;
  return { topology: shape.name, config, steps: drawSteps(draw, machine, config) };
}

function onlineCpus({ cores, offline }: TopologyShape): readonly number[] {
  return cores.flatMap(({ cpus }) => cpus).filter((cpu) => !offline.includes(cpu));
}

function drawConfig(draw: Draw, shape: TopologyShape): NodeConfig {
  const isStatic = draw.chance(0.9);
  const hasMemory = draw.chance(0.55);
  const options: string[] = [];
  for (let count = draw.one([0, 0, 1, 1, 1, 2, 2, 3]); isStatic && count > 0; count--)
    options.push(draw.one(CPU_OPTIONS));
  const cpus = onlineCpus(shape);
  const reserved = draw.chance(0.5) ? [...new Set([draw.one(cpus), draw.one(cpus)])].sort((a, b) => a - b) : [];
  const cpu = reserved.length > 0 ? `${reserved.length}` : draw.one(['500m', '1', '2', '3']);
  const reservedMi = 256;
  const hugeMi = draw.chance(0.2) ? 64 : 0;
  const total = reservedMi * shape.nodes.length;
  return {
    cpuManagerPolicy: isStatic ? 'static' : 'none',
    cpuManagerPolicyOptions: Object.fromEntries(options.map((name) => [name, draw.chance(0.9) ? 'true' : 'false'])),
    reservedSystemCPUs: reserved.join(),
    memoryManagerPolicy: hasMemory ? 'Static' : 'None',
    reservedMemory: hasMemory
      ? shape.nodes.map(({ id }) => ({
          numaNode: id,
          limits: { memory: `${reservedMi}Mi`, ...(id === 0 && hugeMi > 0 && { 'hugepages-2Mi': `${hugeMi}Mi` }) },
        }))
      : [],
    topologyManagerPolicy: draw.one(['none', 'best-effort', 'restricted', 'single-numa-node']),
    topologyManagerScope: draw.one(['container', 'pod']),
    topologyManagerPolicyOptions: {
      ...(draw.chance(0.3) && { 'prefer-closest-numa-nodes': 'true' }),
      ...(draw.chance(0.1) && { 'max-allowable-numa-nodes': draw.one(['7', '8', '16']) }),
    },
    nodeReservation: {
      cpu,
      ...(hasMemory && { memory: `${total}Mi` }),
      ...(hasMemory && hugeMi > 0 && { 'hugepages-2Mi': `${hugeMi}Mi` }),
    },
    featureGates: {
      CPUManagerPolicyAlphaOptions: draw.chance(0.9),
      CPUManagerPolicyBetaOptions: draw.chance(0.95),
      PodLevelResources: true,
      PodLevelResourceManagers: draw.chance(0.4),
    },
  };
}

function drawSteps(draw: Draw, shape: TopologyShape, config: NodeConfig): readonly Step[] {
  const steps: Step[] = [];
  let pods: Pod[] = [];
  const admit = (drawn: Pod): void => {
    const devices = drawDevices(draw, shape, config, drawn);
    const pod = Object.keys(devices).length === 0 ? drawn : withDevice(drawn);
    pods = [...pods.filter(({ metadata }) => metadata.uid !== pod.metadata.uid), pod];
    steps.push({ op: 'admit', pod, devices });
  };
  for (let count = draw.integer(6, 14), index = 0; index < count; index++) {
    const event = draw.integer(0, 99);
    if (event < 60 || pods.length === 0) {
      admit(drawPod(draw, shape, `pod-${index}`));
    } else if (event < 78) {
      const { uid } = draw.one(pods).metadata;
      pods = pods.filter(({ metadata }) => metadata.uid !== uid);
      steps.push({ op: 'remove', uid });
    } else if (event < 90) {
      const { metadata, spec } = draw.one(pods);
      const { name } = draw.one([...(spec.initContainers ?? []), ...spec.containers]);
      steps.push({ op: 'start', uid: metadata.uid, container: name });
    } else {
      // After a restart, the kubelet admits the pods of the node again. One of these pods may have been resized while
      // the kubelet was down.
      steps.push({ op: 'restart' });
      const resized = draw.chance(0.2) ? draw.one(pods) : undefined;
      for (const pod of pods) admit(pod === resized ? withOneMoreCpu(pod) : pod);
    }
  }
  return steps;
}

function withOneMoreCpu(pod: Pod): Pod {
  const [first, ...others] = pod.spec.containers;
  if (first === undefined) return pod;
  const more = (amounts: Readonly<Record<string, string>> | undefined): Record<string, string> => {
    const cpu = Number(amounts?.cpu);
    return { ...amounts, ...(Number.isInteger(cpu) && { cpu: `${cpu + 1}` }) };
  };
  const resources = { limits: more(first.resources?.limits), requests: more(first.resources?.requests) };
  return { ...pod, spec: { ...pod.spec, containers: [{ ...first, resources }, ...others] } };
}

function withDevice(pod: Pod): Pod {
  const [first, ...others] = pod.spec.containers;
  if (first === undefined) return pod;
  const device = (amounts: Readonly<Record<string, string>> | undefined) => ({ ...amounts, [DEVICE]: '1' });
  const resources = { limits: device(first.resources?.limits), requests: device(first.resources?.requests) };
  return { ...pod, spec: { ...pod.spec, containers: [{ ...first, resources }, ...others] } };
}

type PodKind = 'exclusive' | 'fractional' | 'burstable' | 'besteffort' | 'pod-level';

const KINDS: readonly PodKind[] = [
  ...Array<PodKind>(14).fill('exclusive'),
  ...Array<PodKind>(2).fill('fractional'),
  ...Array<PodKind>(1).fill('burstable'),
  ...Array<PodKind>(1).fill('besteffort'),
  ...Array<PodKind>(5).fill('pod-level'),
];

function drawPod(draw: Draw, shape: TopologyShape, uid: string): Pod {
  const kind = draw.one(KINDS);
  const containers = Array.from({ length: draw.one([1, 1, 1, 2, 2, 3]) }, (_, index) =>
    drawContainer(draw, shape, kind, `main-${index}`),
  );
  const initContainers = Array.from({ length: draw.one([0, 0, 0, 1, 1, 2]) }, (_, index) => ({
    ...drawContainer(draw, shape, kind, `init-${index}`),
    ...(draw.chance(0.35) && { restartPolicy: 'Always' as const }),
  }));
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: {
      containers,
      ...(initContainers.length > 0 && { initContainers }),
      ...(kind === 'pod-level' && { resources: drawPodResources(draw, containers, initContainers) }),
    },
  };
}

/** Draws pod-level resources that the API server accepts: at least as much as the containers together. */
function drawPodResources(draw: Draw, containers: readonly Container[], inits: readonly Container[]): PodResources {
  const total = (name: string): number =>
    [...containers, ...inits].reduce((sum, { resources }) => sum + amountOf(resources?.limits?.[name]), 0);
  const cpu = draw.chance(0.1) ? total('cpu') + 0.5 : Math.ceil(total('cpu')) + draw.one([0, 0, 1, 2, 4]);
  const memoryMi = Math.ceil(total('memory') / 2 ** 20) + draw.one([0, 64, 64, 512, 2048]);
  const limits = {
    cpu: `${Math.max(0.5, cpu) * 1000}m`,
    memory: `${Math.max(64, memoryMi)}Mi`,
    ...(total('hugepages-2Mi') > 0 && { 'hugepages-2Mi': `${total('hugepages-2Mi')}` }),
    ...(total('hugepages-1Gi') > 0 && { 'hugepages-1Gi': `${total('hugepages-1Gi')}` }),
  };
  return { limits, requests: draw.chance(0.85) ? limits : { ...limits, memory: `${memoryMi}Mi`, cpu: '100m' } };
}

type PodResources = NonNullable<Pod['spec']['resources']>;

function amountOf(quantity: string | undefined): number {
  return Number(parseQuantity(quantity ?? '0').milliValue()) / 1000;
}

function drawContainer(draw: Draw, shape: TopologyShape, kind: PodKind, name: string): Container {
  const container = { name, image: 'image' };
  if (kind === 'besteffort') return container;
  if (kind === 'pod-level' && draw.chance(0.4)) return container;
  const isFractional = kind === 'fractional' || draw.chance(0.06);
  // Only page sizes of the machine are drawn: a pod with another page size is rejected before the resource managers see
  // it.
  const sizes = Object.keys(shape.nodes[0]?.hugePages ?? {});
  const limits = {
    cpu: isFractional ? draw.one(['500m', '1500m', '2100m']) : drawCpus(draw, shape),
    memory: drawMemory(draw),
    ...(sizes.includes('2048') && draw.chance(0.12) && { 'hugepages-2Mi': draw.one(['32Mi', '128Mi', '600Mi']) }),
    ...(sizes.includes('1048576') && draw.chance(0.05) && { 'hugepages-1Gi': draw.one(['1Gi', '3Gi']) }),
  };
  const isLess = kind === 'burstable' || (kind === 'pod-level' && draw.chance(0.3));
  return { ...container, resources: { limits, requests: isLess ? { ...limits, memory: '32Mi' } : limits } };
}

/** Draws a number of CPUs: mostly few, sometimes more than a NUMA node or a socket has. */
function drawCpus(draw: Draw, shape: TopologyShape): string {
  const all = onlineCpus(shape).length;
  const most = draw.one([2, 4, 4, Math.trunc(all / shape.nodes.length), Math.trunc(all / 2), all]);
  const cpus = draw.integer(1, Math.max(2, most));
  return draw.chance(0.05) ? `${cpus * 1000}m` : `${cpus}`;
}

function drawMemory(draw: Draw): string {
  return draw.one(['64Mi', '128Mi', '512Mi', '1Gi', '1Gi', '3Gi', '5Gi', '9Gi', '1000M']);
}

/**
 * Draws random NUMA hints of a device manager, or none. Each admission of a pod draws new hints, because devices may
 * have disappeared since the last admission.
 */
function drawDevices(draw: Draw, shape: TopologyShape, config: NodeConfig, { spec }: Pod): DeviceHints {
  if (config.topologyManagerPolicy === 'none' || !draw.chance(0.15) || shape.nodes.length > 4) return {};
  const ids = shape.nodes.map(({ id }) => id);
  const hints = (): DeviceHints[string] => {
    const places = ids.filter(() => draw.chance(0.5));
    const pairs = ids.slice(1).map((id) => [0, id]);
    const all = [
      ...places.map((id) => ({ nodes: [id], preferred: true })),
      ...pairs.map((nodes) => ({ nodes, preferred: false })),
    ];
    return { [DEVICE]: draw.chance(0.1) ? [] : all };
  };
  const names = ['', ...[...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name)];
  return Object.fromEntries(names.filter(() => draw.chance(0.7)).map((name) => [name, hints()]));
}
