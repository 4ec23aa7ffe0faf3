import { socketCases } from './socket-cases.ts';

socketCases('grpc-js');
