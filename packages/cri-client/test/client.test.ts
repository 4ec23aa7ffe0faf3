import { transportUnderTest } from './transport-under-test.ts';

transportUnderTest.transport = 'grpc-js';
await import('./client-cases.ts');
