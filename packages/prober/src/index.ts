export { type ExecInContainer, ProbeAttempt, type ProbePorts, type ProbeTarget, USER_AGENT } from './attempt.ts';
export type { ProberComponents, ProberOptions } from './components.ts';
export { type GrpcTarget, grpcProbe } from './grpc-probe.ts';
export type { ProbeExplanation, ProbeRecord } from './history.ts';
export { type ExecResult, execOutcome, httpOutcome } from './outcomes.ts';
export { PROBE_TIMES_ANNOTATION, type ProbeTimes, probeTimes, probeTimesProblems } from './probe-times.ts';
export { Prober } from './prober.ts';
export { ProbeResults } from './results.ts';
export type { ProbeKind, ProbeOutcome, ProbeResult, ProbeUpdate } from './types.ts';
