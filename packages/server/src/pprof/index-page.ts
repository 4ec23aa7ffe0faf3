import type { Reply } from '../http/reply.ts';

/** The description of each profile. */
const PROFILES: Readonly<Record<string, string>> = {
  allocs: 'A sampling of memory allocations within some seconds, 10 by default: the GET parameter seconds.',
  cmdline: 'The program and its arguments.',
  goroutine: 'The pending tasks of this program and what they wait for.',
  heap: 'A sampling of the memory in use, by the place of its allocation.',
  profile: 'CPU time used within some seconds, 30 by default: the GET parameter seconds.',
  symbol: 'Names of functions by their addresses: always empty, because profiles contain the names.',
  trace: 'Events within some seconds, 1 by default, as trace events in JSON: for Perfetto and browsers.',
};

/** Returns the page that links all profiles. @param tasks the number of pending tasks */
export function indexPage(tasks: number): Reply {
  const rows = Object.entries(PROFILES).map(([name, description]) => {
    const count = name === 'goroutine' ? ` (${tasks})` : '';
    return `<dt><a href="${name}${isSnapshot(name) ? '?debug=1' : ''}">${name}</a>${count}</dt><dd>${description}</dd>\n`;
  });
  const head = '<!doctype html>\n<title>/debug/pprof/</title>\n<h1>/debug/pprof/</h1>\n';
  const hint = '<p>Profiles are in the format of pprof; with ?debug=1 they are text.</p>\n';
  return {
    status: 200,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'X-Content-Type-Options': 'nosniff' },
    body: `${head}<dl>\n${rows.join('')}</dl>\n${hint}`,
  };
}

function isSnapshot(name: string): boolean {
  return name === 'heap' || name === 'goroutine';
}
