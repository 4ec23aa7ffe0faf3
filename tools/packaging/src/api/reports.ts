import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
  type ExtractorMessage,
  ExtractorMessageId,
  type IConfigFile,
} from '@microsoft/api-extractor';
import { entriesOf, type WorkspacePackage } from '../workspace.ts';
import type { ApiReport, UnexportedName } from './surface.ts';

interface Entry {
  readonly directory: string;
  readonly types: string;
}

/**
 * Returns the API reports of all entries of these packages. The compiler runs once over their declarations. The
 * packages must be built.
 */
export function apiReports(root: string, packages: readonly WorkspacePackage[]): readonly ApiReport[] {
  const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'node-agent-api-'));
  try {
    const entries = packages.flatMap(({ directory, manifest }) =>
      entriesOf(manifest).map(({ types }) => ({ directory, types })),
    );
    const configs = entries.map((entry) => ({ entry, config: configOf(root, entry, temporary) }));
    const [first] = configs;
    if (first === undefined) return [];
    const additionalEntryPoints = configs.map(({ config }) => config.mainEntryPointFilePath);
    const compilerState = CompilerState.create(first.config, { additionalEntryPoints });
    return configs.map(({ entry, config }) => {
      const unexported: UnexportedName[] = [];
      const faults: string[] = [];
      const messageCallback = (message: ExtractorMessage): void => {
        message.handled = true;
        if (message.logLevel !== ExtractorLogLevel.Error) return;
        const where = whereOf(root, message);
        const name = unexportedName(message);
        if (name === undefined) faults.push(`${where}: ${message.text}`);
        else unexported.push({ name, where });
      };
      Extractor.invoke(config, { compilerState, localBuild: true, messageCallback });
      const text = fs.readFileSync(config.reportFilePath, 'utf8');
      const { directory } = entry;
      return { directory, file: `${directory}/api/${reportName(entry)}`, text, unexported, faults };
    });
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
}

function reportName({ types }: Entry): string {
  return `${path.posix
    .relative('dist', types)
    .replace(/\.d\.ts$/, '')
    .replaceAll('/', '.')}.api.md`;
}

function configOf(root: string, entry: Entry, temporary: string): ExtractorConfig {
  const projectFolder = path.join(root, entry.directory);
  const reports = path.join(temporary, entry.directory);
  fs.mkdirSync(reports, { recursive: true });
  const configObject: IConfigFile = {
    projectFolder,
    mainEntryPointFilePath: path.join(projectFolder, entry.types),
    newlineKind: 'lf',
    compiler: {
      overrideTsconfig: {
        compilerOptions: {
          target: 'es2024',
          lib: ['es2024', 'esnext.disposable', 'esnext.iterator'],
          module: 'nodenext',
          moduleResolution: 'nodenext',
          types: ['node'],
          strict: true,
          exactOptionalPropertyTypes: true,
          skipLibCheck: true,
        },
        files: [path.join(projectFolder, entry.types)],
      },
    },
    apiReport: {
      enabled: true,
      reportFileName: reportName(entry).replace(/\.api\.md$/, ''),
      reportFolder: reports,
      reportTempFolder: path.join(reports, 'temp'),
    },
    docModel: { enabled: false },
    dtsRollup: { enabled: false },
    tsdocMetadata: { enabled: false },
    messages: {
      compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
      extractorMessageReporting: {
        default: { logLevel: ExtractorLogLevel.None },
        'ae-forgotten-export': { logLevel: ExtractorLogLevel.Error },
      },
      tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
    },
  };
  return ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: undefined,
    packageJsonFullPath: path.join(projectFolder, 'package.json'),
  });
}

/**
 * Returns the name that an `ae-forgotten-export` message is about, without the number that API Extractor appends to
 * duplicate names.
 */
function unexportedName({ messageId, text }: ExtractorMessage): string | undefined {
  if (messageId !== ExtractorMessageId.ForgottenExport) return undefined;
  return /^The symbol "(\w+?)(?:_\d+)?" needs to be exported/.exec(text)?.[1];
}

function whereOf(root: string, { sourceFilePath, sourceFileLine }: ExtractorMessage): string {
  return sourceFilePath === undefined ? 'declarations' : `${path.relative(root, sourceFilePath)}:${sourceFileLine}`;
}
