import type { Attack } from '../attack.ts';
import { TOKEN } from '../token.ts';

const PATHS: readonly string[] = [
  '/logs/../secret',
  '/logs/%2e%2e/secret',
  '/logs/..%2fsecret',
  '/logs/%2e%2e%2fsecret',
  '/logs/.%2e/secret',
  '/logs/%252e%252e/secret',
  '/logs/..\\secret',
  '/logs/x/../../secret',
  '/logs//secret',
  '/logs/./../secret',
  '/logs/%00/../secret',
  '/logs/public.log/../../secret',
  '/logs/%c0%ae%c0%ae/secret',
  'https://node/logs/../secret',
  '/logs/?query=..%2fsecret',
];

export const logTraversal: Attack = {
  name: 'log-traversal',
  input: `${PATHS.length} paths of an authorized client that lead out of the log directory`,
  async run({ victim, connections }) {
    const led: string[] = [];
    const ask = async (path: string): Promise<string> => {
      const head = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nConnection: close\r\n\r\n`;
      return await connections.exchange(victim.port, head);
    };
    if (!(await ask('/logs/public.log')).includes('public\n')) return { did: 'no logs', success: 'no logs are served' };
    for (const path of PATHS) if (/\r\n\r\n[\s\S]*^secret$/m.test(await ask(path))) led.push(path);
    const success = led.length > 0 ? `a file outside was read by ${led.join(', ')}` : undefined;
    return { did: `${PATHS.length - led.length} refused`, success };
  },
};
