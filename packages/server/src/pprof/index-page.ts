import type { Reply } from '../http/reply.ts';

/** What each profile is. */
const PROFILES: Readonly<Record<string, string>> = {
  allocs: 'A sampling of what is asked for of memory within some seconds, 10 by default: the GET parameter seconds.',
  cmdline: 'The program and its arguments.',
  goroutine: 'What is under way: the tasks of this program that wait for something.',
  heap: 'A sampling of the memory that is held, by where it was asked for.',
  profile: 'Where CPU time goes within some seconds, 30 by default: the GET parameter seconds.',
  symbol: 'Names of functions by their addresses: none is needed, as profiles have the names in them.',
  trace: 'What happens within some seconds, 1 by default, as trace events in JSON: for Perfetto and browsers.',
};

/** What there is, with links. @param tasks how many are under way */
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
