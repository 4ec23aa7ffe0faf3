import { describe, expect, it } from 'vitest';
import type { Answer } from '../src/api-server.ts';
import { WhyError } from '../src/errors.ts';
import { type NodeFacts, nodeRefusal, podRefusal } from '../src/refusal.ts';
import { apiStatus } from './api.ts';

const answer = (status: number, body: string | object): Answer => ({
  ...{ status, contentType: 'text/plain', body: typeof body === 'string' ? body : JSON.stringify(body) },
});
const forbidden = apiStatus(403, 'Forbidden', 'User "jane" cannot');
const long = 'x'.repeat(501);

describe('error if the API server returns no pod', () => {
  it.each<[string, Answer, string]>([
    ['the pod does not exist', answer(404, forbidden), 'there is no pod web in the namespace shop'],
    [
      'the user may not get it',
      answer(403, forbidden),
      [
        'User "jane" cannot',
        'It takes a role, in the namespace shop, with this rule:',
        '  - apiGroups: [""]',
        '    resources: ["pods"]',
        '    verbs: ["get"]',
      ].join('\n'),
    ],
    [
      'another component denies access',
      answer(403, 'a proxy says no'),
      'forbidden\nIt takes a role, in the namespace shop, with this rule:\n' +
        '  - apiGroups: [""]\n    resources: ["pods"]\n    verbs: ["get"]',
    ],
    [
      'the user is not authenticated',
      answer(401, apiStatus(401, 'Unauthorized', 'Unauthorized')),
      'the API server does not accept the credentials of the kubeconfig',
    ],
    [
      'the API server is overloaded',
      answer(429, apiStatus(429, 'TooManyRequests', 'later')),
      'the API server responded with 429: later',
    ],
    ['the API server sends text', answer(500, ' no\n'), 'the API server responded with 500: no'],
    ['the API server sends a long text', answer(500, long), `the API server responded with 500: ${long.slice(1)}`],
    // Only a `Status` object is shown as the API server's own message; everything else is quoted.
    ['the API server sends null', answer(500, 'null'), 'the API server responded with 500: null'],
    ['the API server sends a number', answer(500, '7'), 'the API server responded with 500: 7'],
    [
      'the API server sends another object',
      answer(500, { kind: 'Pod', message: 'm' }),
      'the API server responded with 500: {"kind":"Pod","message":"m"}',
    ],
    [
      'the API server sends a Status without a message',
      answer(500, { kind: 'Status' }),
      'the API server responded with 500: {"kind":"Status"}',
    ],
  ])('the error explains why the API server returns no pod: %s', (_what, told, message) => {
    const refusal = podRefusal(told, 'shop', 'web');
    expect(refusal).toBeInstanceOf(WhyError);
    expect(refusal.message).toBe(message);
  });
});

describe('error if a node returns no explanation', () => {
  const rule = ['  - apiGroups: [""]', '    resources: ["nodes/proxy"]', '    verbs: ["get"]'].join('\n');
  const letsNobodyIn =
    'the kubelet of the node n1 does not authorize the API server: no\n' +
    'The user of its client certificate needs the cluster role system:kubelet-api-admin.';

  const ofGo = { kubeletVersion: 'v1.36.3' };
  const own = { kubeletVersion: 'v1.36.3+node-agent.0.1.0' };
  const noPath = answer(404, '404 page not found');

  it.each<[string, Answer, string, Partial<NodeFacts>?]>([
    [
      'the API server denies access to the node proxy',
      answer(403, forbidden),
      `User "jane" cannot\nIt takes a role, in the whole cluster, with this rule:\n${rule}`,
    ],
    ['the node does not authorize the API server', answer(403, 'no\n'), letsNobodyIn],
    [
      'the node does not know the API server',
      answer(401, 'Unauthorized'),
      "the kubelet of the node n1 does not accept the API server's client certificate: its clientCAFile must contain the authority of that certificate",
    ],
    [
      'the user is not authenticated at the API server',
      answer(401, apiStatus(401, 'Unauthorized', 'Unauthorized')),
      'the API server does not accept the credentials of the kubeconfig',
    ],
    [
      'the node does not exist',
      answer(404, apiStatus(404, 'NotFound', 'nodes "n1" not found')),
      'there is no node n1: nodes "n1" not found',
    ],
    [
      'the node does not know the pod',
      answer(404, 'pod shop/web is not known here\n'),
      'the node n1 does not know the pod shop/web: it has not received the pod yet, or has already removed it',
    ],
    [
      'a kubelet of unknown version has no such path',
      noPath,
      "the kubelet of the node n1 is not node-agent's: it has no /debug/explain",
    ],
    [
      'a Go kubelet has no such path',
      noPath,
      "the kubelet of the node n1 (v1.36.3) is not node-agent's: it has no /debug/explain",
      ofGo,
    ],
    [
      'a kubelet of node-agent has the path disabled',
      noPath,
      'the kubelet of the node n1 (v1.36.3+node-agent.0.1.0) explains nothing: enableDebuggingHandlers is false in its configuration',
      own,
    ],
    [
      'the node is unreachable, with a long message',
      answer(503, ` ${long}`),
      `the API server does not reach the node n1: ${long.slice(1)}`,
    ],
    ['any other response', answer(500, 'internal'), 'the API server responded with 500: internal'],
  ])('the error explains why a node returns no explanation: %s', (_what, told, message, facts = {}) => {
    expect(nodeRefusal(told, { node: 'n1', ...facts }, 'shop/web').message).toBe(message);
  });

  it.each([502, 503, 504])('the error reports an unreachable node for the HTTP status %d', (status) => {
    const told = answer(status, apiStatus(status, 'x', 'dial tcp: refused'));
    expect(nodeRefusal(told, { node: 'n1' }).message).toBe(
      'the API server does not reach the node n1: dial tcp: refused',
    );
  });

  it('the error does not report an unknown pod if no pod was requested', () => {
    const told = answer(404, 'it is not known here');
    expect(nodeRefusal(told, { node: 'n1' }).message).toContain('it has no /debug/explain');
  });
});
