import { clientCases } from './client-cases.ts';

clientCases('grpc-js');
