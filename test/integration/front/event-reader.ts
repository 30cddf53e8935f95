/** One server-sent event. */
export interface ReceivedEvent {
  readonly event: string;
  readonly data: unknown;
}

/** Reads server-sent events as they arrive. */
export class EventReader implements AsyncDisposable {
  readonly response: Response;
  readonly received: ReceivedEvent[] = [];
  comments = 0;
  /** Resolves when the server ends the stream, or the connection is closed. */
  readonly ended: Promise<void>;
  readonly #aborter: AbortController;

  private constructor(response: Response, aborter: AbortController) {
    this.response = response;
    this.#aborter = aborter;
    this.ended = this.#read().catch(() => undefined);
  }

  static async open(url: string, token: string): Promise<EventReader> {
    const aborter = new AbortController();
    const headers = { authorization: `Bearer ${token}` };
    return new EventReader(await fetch(url, { headers, signal: aborter.signal }), aborter);
  }

  of(event: string): readonly unknown[] {
    return this.received.filter((each) => each.event === event).map(({ data }) => data);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#aborter.abort();
    await this.ended;
  }

  async #read(): Promise<void> {
    let text = '';
    for await (const part of (this.response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      const blocks = (text + part).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) this.#take(block);
    }
  }

  #take(block: string): void {
    if (block.startsWith(':')) this.comments++;
    const event = /^event: (.*)$/m.exec(block)?.[1];
    const data = /^data: (.*)$/m.exec(block)?.[1];
    if (event !== undefined && data !== undefined) this.received.push({ event, data: JSON.parse(data) });
  }
}
