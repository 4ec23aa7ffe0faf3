import type { Autoscaled } from './autoscaling.ts';
import { descriptionProblems, parseNodeDescription } from './node-description.ts';
import { topUsage, type Usage, usageProblems } from './top-usage.ts';

/** Values that follow from the profile of the hollow nodes. */
export interface HollowExpectation {
  /** Usage of each pod that runs before the autoscaler is tested. */
  readonly pod: Usage;
  /** Usage of a node without its pods. */
  readonly system: Usage;
  /** Results of the autoscaler with busy pods and afterwards with idle pods. */
  readonly busy: Autoscaled;
  readonly idle: Autoscaled;
}

/** Findings of a run with hollow nodes. */
export interface HollowFindings {
  readonly expected: HollowExpectation;
  /** Names of the pods of each node, by the name of the node. */
  readonly podsByNode: Readonly<Record<string, readonly string[]>>;
  /** Output of kubectl top. */
  readonly top: { readonly nodes: string; readonly pods: string };
  /** Output of `kubectl describe node` for each node. */
  readonly descriptions: readonly string[];
  /** Results of the autoscaler when all its pods were Ready. */
  readonly busy: Autoscaled;
  readonly idle: Autoscaled;
  /** Errors that metrics-server logged. */
  readonly complaints: readonly string[];
}

type Top = Pick<HollowFindings, 'expected' | 'podsByNode' | 'top'>;

/** Returns how the output of kubectl top differs from the profile. */
export function topProblems({ expected, podsByNode, top }: Top): readonly string[] {
  const { pod, system } = expected;
  const pods = new Map(Object.values(podsByNode).flatMap((names) => names.map((name) => [name, pod] as const)));
  const nodes = new Map(
    Object.entries(podsByNode).map(([name, { length }]) => {
      const cpuMillis = system.cpuMillis + length * pod.cpuMillis;
      return [name, { cpuMillis, memoryBytes: system.memoryBytes + length * pod.memoryBytes }] as const;
    }),
  );
  return [
    ...usageProblems(topUsage(top.nodes), nodes).map((problem) => `kubectl top node: ${problem}`),
    ...usageProblems(topUsage(top.pods), pods).map((problem) => `kubectl top pod: ${problem}`),
  ];
}

/** Returns the problems among the findings. */
export function hollowProblems(findings: HollowFindings): readonly string[] {
  const { expected, podsByNode, descriptions, busy, idle, complaints } = findings;
  const described = new Map(
    descriptions.map((text) => {
      const description = parseNodeDescription(text);
      return [description.get('Name')?.[0]?.[0] ?? '', description] as const;
    }),
  );
  return [
    ...topProblems(findings),
    ...Object.entries(podsByNode).flatMap(([name, pods]) =>
      descriptionProblems(described.get(name) ?? new Map(), pods).map(
        (problem) => `kubectl describe node ${name}: ${problem}`,
      ),
    ),
    ...autoscalerProblems('busy', busy, expected.busy),
    ...autoscalerProblems('idle', idle, expected.idle),
    ...complaints,
  ];
}

/** Rounding in kubectl top and in the autoscaler may change the percentage by a few hundredths of its value. */
function autoscalerProblems(pods: string, found: Autoscaled, expected: Autoscaled): readonly string[] {
  const isUtilizationRight =
    Math.abs(found.utilization - expected.utilization) <= Math.max(2, 0.02 * expected.utilization);
  return [
    ...(isUtilizationRight
      ? []
      : [`autoscaler, ${pods} pods: ${found.utilization} % of the requested CPU, expected ${expected.utilization} %`]),
    ...(found.replicas === expected.replicas
      ? []
      : [`autoscaler, ${pods} pods: ${found.replicas} replicas, expected ${expected.replicas}`]),
  ];
}

/** Formats the findings as text. */
export function hollowFindingsText(findings: HollowFindings): string {
  const { top, descriptions, busy, idle, podsByNode } = findings;
  const problems = hollowProblems(findings);
  const autoscaled = ({ utilization, replicas }: Autoscaled): string =>
    `${utilization} % of the requested CPU, ${replicas} replicas`;
  return [
    'kubectl top node',
    top.nodes.trimEnd(),
    '',
    'kubectl top pod',
    ...top.pods.trimEnd().split('\n').slice(0, 4),
    '',
    `autoscaler, busy pods: ${autoscaled(busy)}`,
    `autoscaler, idle pods: ${autoscaled(idle)}`,
    '',
    `kubectl describe node, the first of ${Object.keys(podsByNode).length} nodes`,
    descriptions[0]?.trimEnd() ?? '',
    '',
    problems.length === 0 ? 'no problem' : `problems:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    '',
  ].join('\n');
}
