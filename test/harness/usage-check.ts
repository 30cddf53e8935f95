import type { CaptureRecord } from '@webcapture/shared/captures/capture-record.ts';
import type { RendererHeartbeat } from '@webcapture/shared/queue/parse-heartbeat.ts';
import { connectNats, type NatsSession } from '@webcapture/shared/nats/connect.ts';
import { Entries } from '@webcapture/shared/nats/entries.ts';
import { retryTransient } from '@webcapture/shared/nats/retry.ts';
import { streamNames } from '@webcapture/shared/nats/streams.ts';
import { Accounts } from '@webcapture/shared/accounts/accounts.ts';
import { Captures } from '@webcapture/shared/captures/captures.ts';
import { Sessions } from '@webcapture/shared/captures/sessions.ts';
import { Fleet as FleetState } from '@webcapture/shared/queue/fleet.ts';
import { hashKey, Keys, type KeyRecord } from '../../services/front/auth/keys.ts';
import { scopes } from '@webcapture/shared/api/api-key.ts';
import { monthOf } from '@webcapture/shared/captures/times.ts';
import { usageShards, type Usage } from '@webcapture/shared/captures/usage.ts';
import { createLogger } from '@webcapture/shared/runtime/logger.ts';
import { until } from './until.ts';

const log = createLogger({ service: 'test', pod: 'test', level: 'silent' });

/** Time limit of retries. It is sufficient for tests that kill and restart a server. */
const patiently = <T>(read: () => Promise<T>): Promise<T> => retryTransient(read, { deadline: Date.now() + 60_000 });

/** Reads what the fleet has stored, without the services, through the modules that they share. */
export class UsageCheck {
  readonly #session: NatsSession;
  readonly #key: string;
  readonly #fleet = new FleetState();
  readonly #stop: AbortController;
  #account: string | undefined;

  private constructor(session: NatsSession, key: string, stop: AbortController) {
    this.#session = session;
    this.#key = key;
    this.#stop = stop;
    void this.#fleet.follow(session, { log, signal: stop.signal });
  }

  static async open(natsUrl: string, key: string): Promise<UsageCheck> {
    const stop = new AbortController();
    const session = await connectNats({ url: natsUrl, name: 'test', log, signal: stop.signal });
    return new UsageCheck(session, key, stop);
  }

  /** The account of the fleet's key. */
  async account(): Promise<string> {
    if (this.#account === undefined) {
      const keys = new Keys(this.#session);
      const entry = await until('the key of the fleet', () => keys.get(hashKey(this.#key)));
      this.#account = entry.value.account;
    }
    return this.#account;
  }

  /** The sessions of all accounts. */
  get sessions(): Sessions {
    return new Sessions(this.#session);
  }

  /** Creates another account, with one key that has all scopes. */
  async addAccount(id: string, key: Partial<KeyRecord> = {}): Promise<{ account: string; key: string }> {
    const createdAt = Date.now();
    const secret = `key-of-${id}-${createdAt}`;
    await new Accounts(this.#session).put({ id, name: id, createdAt });
    const record: KeyRecord = { id: `key-${id}`, account: id, name: id, scopes, createdAt, ...key };
    await new Keys(this.#session).put(hashKey(secret), record);
    return { account: id, key: secret };
  }

  /** Returns the tokens and captures charged to the account this month. */
  async usage(): Promise<Pick<Usage, 'tokens' | 'captures' | 'reserved' | 'queued'>> {
    const db = new Entries(this.#session, 'db');
    const prefix = `usage.${await this.account()}.${monthOf(Date.now())}`;
    const shards = await Promise.all(
      Array.from({ length: usageShards }, (_, shard) => patiently(() => db.get<Usage>(`${prefix}.${shard}`))),
    );
    const sum = (field: keyof Usage) => shards.reduce((total, shard) => total + (shard?.value[field] ?? 0), 0);
    return { tokens: sum('tokens'), captures: sum('captures'), reserved: sum('reserved'), queued: sum('queued') };
  }

  /** Returns the record of a capture, by default of the fleet's account. */
  async record(uuid: string, account?: string): Promise<CaptureRecord | null> {
    const of = account ?? (await this.account());
    const entry = await patiently(() => new Captures(this.#session).get(of, uuid));
    return entry?.value ?? null;
  }

  /** Returns the records of every capture of the fleet's account, or of another one. */
  async records(of?: string): Promise<CaptureRecord[]> {
    const account = of ?? (await this.account());
    const subjects = await this.#session.jsm.streams.info(streamNames.db, {
      subjects_filter: `$KV.db.capture.${account}.>`,
    });
    const uuids = Object.keys(subjects.state.subjects ?? {}).map((subject) => subject.split('.').at(-1) ?? '');
    const records = await Promise.all(uuids.map((uuid) => this.record(uuid, account)));
    return records.filter((record) => record !== null);
  }

  /** Returns the number of messages in the capture queue, waiting or in progress. */
  async queued(): Promise<number> {
    return (await this.#session.jsm.streams.info(streamNames.captures)).state.messages;
  }

  /**
   * Returns the number of renderer results that no front has settled yet. An interactive capture gets its record only when its result is
   * settled.
   */
  async unsettled(): Promise<number> {
    return (await this.#session.jsm.streams.info(streamNames.results)).state.messages;
  }

  /** Returns the number of files in the embedded store. */
  async files(): Promise<number> {
    const info = await this.#session.jsm.streams.info(streamNames.files, { subjects_filter: 'files.head.>' });
    return Object.keys(info.state.subjects ?? {}).length;
  }

  /** Returns the renderers that accept captures. */
  serving(region: RendererHeartbeat['region']): readonly RendererHeartbeat[] {
    return this.#fleet.serving(region);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#session.nc.close();
  }
}
