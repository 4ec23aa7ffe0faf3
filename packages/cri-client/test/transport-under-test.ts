/** Transport that the cases in `client-cases.ts` use. */
export const transportUnderTest: { transport: 'grpc-js' | 'lean' } = { transport: 'grpc-js' };
