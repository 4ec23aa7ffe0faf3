import type { Attack } from '../attack.ts';
import { absoluteForm } from './absolute-form.ts';
import { garbageTls } from './garbage-tls.ts';
import { headInPieces } from './head-in-pieces.ts';
import { hostileObjects } from './hostile-objects.ts';
import { http2Continuation } from './http2-continuation.ts';
import { http2Goaway } from './http2-goaway.ts';
import { http2HalfOpen } from './http2-half-open.ts';
import { http2InHttp1 } from './http2-in-http1.ts';
import { http2Leave } from './http2-leave.ts';
import { http2LeaveStream } from './http2-leave-stream.ts';
import { http2RapidReset } from './http2-rapid-reset.ts';
import { http2WindowZero } from './http2-window-zero.ts';
import { idleConnections } from './idle-connections.ts';
import { idleHealth } from './idle-health.ts';
import { idleUnix } from './idle-unix.ts';
import { logTraversal } from './log-traversal.ts';
import { oversizedBody } from './oversized-body.ts';
import { oversizedHeaders } from './oversized-headers.ts';
import { renegotiation } from './renegotiation.ts';
import { slowBody } from './slow-body.ts';
import { slowHeaders } from './slow-headers.ts';
import { smuggling } from './smuggling.ts';
import { strangersHeads } from './strangers-heads.ts';
import { twoHosts } from './two-hosts.ts';
import { yamlBombs } from './yaml-bombs.ts';

/** All attacks, in the order of the table. */
export const ATTACKS: readonly Attack[] = [
  absoluteForm,
  garbageTls,
  headInPieces,
  hostileObjects,
  http2Continuation,
  http2Goaway,
  http2HalfOpen,
  http2InHttp1,
  http2Leave,
  http2LeaveStream,
  http2RapidReset,
  http2WindowZero,
  idleConnections,
  idleHealth,
  idleUnix,
  logTraversal,
  oversizedBody,
  oversizedHeaders,
  renegotiation,
  slowBody,
  slowHeaders,
  smuggling,
  strangersHeads,
  twoHosts,
  yamlBombs,
];
