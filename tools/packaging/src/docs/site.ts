import fs from 'node:fs';
import path from 'node:path';
import { Application, type Context, Converter, type ProjectReflection } from 'typedoc';
import type { WorkspacePackage } from '../workspace.ts';

const HOME = 'https://github.com/node-agent/node-agent';

/** Entry of a package: import specifier, source file and README. */
interface Entry {
  readonly specifier: string;
  readonly source: string;
  readonly readme: string | undefined;
}

/**
 * Builds the site of the public surface, with each package's README, in `output`.
 * @returns the number of entries, and the number of errors and warnings, which are printed
 */
export async function buildSite(
  root: string,
  packages: readonly WorkspacePackage[],
  output: string,
): Promise<{ readonly entries: number; readonly faults: number }> {
  const entries = packages.flatMap((entry) => entriesOf(root, entry));
  const app = await Application.bootstrap({
    name: 'node-agent',
    entryPoints: entries.map(({ source }) => source),
    tsconfig: path.join(root, 'tools/packaging/tsconfig.docs.json'),
    // `npm test` checks the types in a separate step.
    skipErrorChecking: true,
    readme: 'none',
    disableGit: true,
    sourceLinkTemplate: `${HOME}/blob/main/{path}#L{line}`,
    basePath: root,
    alwaysCreateEntryPointModule: true,
    excludeExternals: true,
    excludePrivate: true,
    githubPages: false,
    hideGenerator: true,
    validation: { notExported: true, invalidLink: true, invalidPath: true, rewrittenLink: true },
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }: Context) => introduce(project, entries));
  const project = await app.convert();
  if (project !== undefined) {
    const text = fs.readFileSync(path.join(root, 'README.md'), 'utf8');
    project.readme = [{ kind: 'text', text: withAbsoluteLinks(text, '') }];
    app.validate(project);
    await app.generateDocs(project, output);
  }
  const { errorCount, warningCount } = app.logger;
  return { entries: entries.length, faults: errorCount + warningCount + (project === undefined ? 1 : 0) };
}

function entriesOf(root: string, { directory, manifest }: WorkspacePackage): readonly Entry[] {
  return Object.entries(manifest.exports ?? {}).flatMap(([subpath, target]) => {
    const source = typeof target === 'string' ? undefined : target['@node-agent/source'];
    if (source === undefined) return [];
    const readme = path.join(root, directory, 'README.md');
    return {
      specifier: path.posix.join(manifest.name, subpath),
      source: path.join(root, directory, source),
      readme:
        subpath === '.' && fs.existsSync(readme)
          ? withAbsoluteLinks(fs.readFileSync(readme, 'utf8'), directory)
          : undefined,
    };
  });
}

/** Names each module after its import specifier, and puts the README at the beginning of its page. */
function introduce(project: ProjectReflection, entries: readonly Entry[]): void {
  for (const module of project.children ?? []) {
    const file = module.sources?.[0]?.fullFileName;
    const entry = entries.find(({ source }) => source === file);
    if (entry === undefined) throw new Error(`build API site: ${file} is not the entry of a package`);
    module.name = entry.specifier;
    if (entry.readme !== undefined) module.readme = [{ kind: 'text', text: entry.readme }];
  }
}

/** Replaces relative links of a text in `directory` by links to the files in the repository on GitHub. */
export function withAbsoluteLinks(text: string, directory: string): string {
  return text.replaceAll(/\]\((?!\w+:|#)([^)]+)\)/g, (_, target: string) => {
    return `](${HOME}/blob/main/${path.posix.join(directory, target)})`;
  });
}
