import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePorts } from '@node-agent/tools-ports';
import { until } from '../waiting.ts';
import { Child } from './child.ts';

/** Metrics pages of a node. */
export const PAGES = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/metrics/probes'] as const;

/** Address of a node and client credentials. */
export interface ScrapedNode {
  readonly address: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** Results of scraping one page. */
export interface ScrapedPage {
  readonly path: string;
  readonly scrapes: number;
  readonly failed: number;
  /** Number of samples in the last scrape. */
  readonly samples: number;
  readonly longestMs: number;
  /** Error of the last scrape; '' if the scrape succeeded. */
  readonly lastError: string;
}

interface Query {
  readonly data: {
    readonly result: readonly { readonly metric: Record<string, string>; readonly value: [number, string] }[];
  };
}

interface Targets {
  readonly data: {
    readonly activeTargets: readonly { readonly labels: { readonly job: string }; readonly lastError: string }[];
  };
}

/** Reasons why Prometheus drops samples of a successful scrape. */
const LEFT_OUT = ['sample_out_of_bounds', 'sample_duplicate_timestamp', 'sample_out_of_order', 'exceeded_sample_limit'];

/** Prometheus process that scrapes the pages of one node. */
export class Prometheus {
  readonly #child: Child;
  readonly #url: string;

  private constructor(child: Child, url: string) {
    this.#child = child;
    this.#url = url;
  }

  static async start(
    program: string,
    directory: string,
    node: ScrapedNode,
    intervalSeconds: number,
    signal: AbortSignal,
  ): Promise<Prometheus> {
    await mkdir(directory, { recursive: true });
    const config = join(directory, 'prometheus.json');
    const tls = { insecure_skip_verify: true, cert_file: node.certFile, key_file: node.keyFile };
    const interval = `${intervalSeconds}s`;
    // The configuration is written as JSON, which Prometheus's YAML parser accepts.
    const scrape_configs = PAGES.map((path) => ({
      ...{ job_name: path, metrics_path: path, scheme: 'https', tls_config: tls },
      static_configs: [{ targets: [node.address] }],
    }));
    const global = { scrape_interval: interval, scrape_timeout: `${Math.min(10, intervalSeconds)}s` };
    await writeFile(config, JSON.stringify({ global, scrape_configs }));
    const [port = 0] = await freePorts(1);
    const child = new Child(
      program,
      [
        ...[`--config.file=${config}`, `--storage.tsdb.path=${join(directory, 'data')}`],
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      join(directory, 'prometheus.log'),
    );
    const prometheus = new Prometheus(child, `http://127.0.0.1:${port}`);
    const isReady = async (): Promise<boolean> => {
      if (!child.runs) throw new Error(`Prometheus exited: ${(await child.logLines()).slice(-3).join('\n')}`);
      return (await fetch(`${prometheus.#url}/-/ready`).catch(() => undefined))?.ok ?? false;
    };
    await until('Prometheus is ready', isReady, signal);
    return prometheus;
  }

  stop(): Promise<void> {
    return this.#child.stop();
  }

  /** Returns the logged warnings and errors. */
  async complaints(): Promise<readonly string[]> {
    return (await this.#child.logLines()).filter((line) => /level=(?:WARN|ERROR)/i.test(line));
  }

  /** Returns the results of the scrapes in the last minutes, by page. */
  async pages(minutes: number): Promise<readonly ScrapedPage[]> {
    const range = `[${minutes}m]`;
    const byJob = async (query: string): Promise<ReadonlyMap<string, number>> => {
      const { data } = await this.#get<Query>(`/api/v1/query?query=${encodeURIComponent(query)}`);
      return new Map(data.result.map(({ metric, value }) => [metric.job ?? '', Number(value[1])]));
    };
    const [scrapes, up, samples, longest] = await Promise.all([
      byJob(`count_over_time(up${range})`),
      byJob(`sum_over_time(up${range})`),
      byJob('scrape_samples_scraped'),
      byJob(`max_over_time(scrape_duration_seconds${range})`),
    ]);
    const { data } = await this.#get<Targets>('/api/v1/targets');
    return PAGES.map((path) => ({
      ...{ path, scrapes: scrapes.get(path) ?? 0, samples: samples.get(path) ?? 0 },
      failed: (scrapes.get(path) ?? 0) - (up.get(path) ?? 0),
      longestMs: (longest.get(path) ?? Number.NaN) * 1000,
      lastError: data.activeTargets.find(({ labels }) => labels.job === path)?.lastError ?? 'not a target',
    }));
  }

  /** Returns the number of dropped samples. */
  async leftOut(): Promise<number> {
    const text = await (await fetch(`${this.#url}/metrics`)).text();
    return LEFT_OUT.reduce((sum, reason) => {
      const line = new RegExp(`^prometheus_target_scrapes_${reason}_total (\\S+)$`, 'm').exec(text);
      return sum + Number(line?.[1] ?? 0);
    }, 0);
  }

  async #get<T>(path: string): Promise<T> {
    const response = await fetch(`${this.#url}${path}`);
    if (!response.ok) throw new Error(`Prometheus: GET ${path}: ${response.status}: ${await response.text()}`);
    return (await response.json()) as T;
  }
}
