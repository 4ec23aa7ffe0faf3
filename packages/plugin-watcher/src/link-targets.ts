import { type FileStat, type ForeignFiles, isMissing } from '@node-agent/host';
import { identityOf } from './find-sockets.ts';

interface Link {
  /** Value that changes when the link at this path is replaced. */
  readonly identity: string;
  /** Identity of the socket that the link leads to, if any. */
  socket: string | undefined;
  isAsked: boolean;
}

/**
 * Determines which links lead to sockets; upstream's `IsUnixDomainSocket` follows links too. A link's target may be on
 * a file system that never answers, so links are resolved independently in the background (W6).
 */
export class LinkTargets {
  readonly #files: Pick<ForeignFiles, 'stat'>;
  readonly #onNews: () => void;
  readonly #limit: number;
  readonly #links = new Map<string, Link>();

  /**
   * @param onNews called when the result of {@link sockets} has changed @param limit maximum number of links that are
   * resolved
   */
  constructor(files: Pick<ForeignFiles, 'stat'>, onNews: () => void, limit: number) {
    this.#files = files;
    this.#onNews = onNews;
    this.#limit = limit;
  }

  /**
   * Returns the known sockets that these links lead to, and resolves the links again in the background. @param links
   * identities by path
   */
  sockets(links: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
    for (const path of this.#links.keys()) if (!links.has(path)) this.#links.delete(path);
    const sockets = new Map<string, string>();
    for (const [path, identity] of links) {
      let link = this.#links.get(path);
      if (link?.identity !== identity) {
        if (link === undefined && this.#links.size >= this.#limit) continue;
        link = { identity, socket: undefined, isAsked: false };
        this.#links.set(path, link);
      }
      if (link.socket !== undefined) sockets.set(path, link.socket);
      if (!link.isAsked) void this.#ask(path, link);
    }
    return sockets;
  }

  async #ask(path: string, link: Link): Promise<void> {
    link.isAsked = true;
    const before = link.socket;
    // If the target cannot be read once, the last known socket is kept.
    link.socket = await this.#files.stat(path).then(socketIn, (err: unknown) => (isMissing(err) ? undefined : before));
    link.isAsked = false;
    if (link.socket !== before && this.#links.get(path) === link) this.#onNews();
  }
}

function socketIn(stat: FileStat): string | undefined {
  return stat.kind === 'socket' ? identityOf(stat) : undefined;
}
