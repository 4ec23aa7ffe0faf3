import { transportUnderTest } from './transport-under-test.ts';

transportUnderTest.unaryTransport = 'lean';
await import('./socket-cases.ts');
