import { socketCases } from './socket-cases.ts';

socketCases('lean');
