/** Environment variable that chooses how unary calls reach the container runtime. */
const VARIABLE = 'NODE_AGENT_CRI_TRANSPORT';

/** Transport of unary calls to the runtime: see `CriClientOptions.transport`. */
export type CriTransport = 'grpc-js' | 'lean';

/**
 * Returns the transport that the environment names. Default: `lean`, which takes a fraction of the CPU time.
 * @throws Error if the value is not the name of a transport
 */
export function criTransport(environment: Readonly<Record<string, string | undefined>>): CriTransport {
  const given = environment[VARIABLE];
  if (given === undefined || given === '' || given === 'lean') return 'lean';
  if (given === 'grpc-js') return given;
  throw new Error(`the environment variable ${VARIABLE} must be lean or grpc-js, not ${JSON.stringify(given)}`);
}
