/** Transport of unary calls that the cases in `socket-cases.ts` use. */
export const transportUnderTest: { unaryTransport: 'grpc-js' | 'lean' } = { unaryTransport: 'grpc-js' };
