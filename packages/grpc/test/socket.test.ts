import { transportUnderTest } from './transport-under-test.ts';

transportUnderTest.unaryTransport = 'grpc-js';
await import('./socket-cases.ts');
