import { release, machine, hostname } from 'node:os';
import type { Roots } from '../check/collect-facts';
import { packArchive, type ArchivedFile } from './archive';
import { collectReport, type ReportedOptions } from './collect-report';
import { findHostNames } from './kernel';
import type { Missing, Part } from './part';
import { Redactor, type Redaction } from './redact';

/** Largest file of a report, and all of them together, before they are compressed. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_BYTES = 40 * 1024 * 1024;

export interface ReportRequest {
  readonly options: ReportedOptions;
  readonly redaction: Redaction;
  readonly version: string;
  readonly roots: Roots;
  /** The time of the report: its name, and that of its files. */
  readonly at: Date;
  /** Time in which the daemon has to answer each question, in ms. */
  readonly answerMs?: number;
}

export interface Report {
  readonly archive: Buffer;
  /** Number of its files, the index included. */
  readonly files: number;
  readonly missing: readonly Missing[];
}

/** `cpusetd-report-20261124T100000Z`: the folder in the archive, and its name. The host is not in it. */
export function nameOfReport(at: Date): string {
  return `cpusetd-report-${at.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
}

/**
 * Collects a report, leaves out what is private, and packs it. Its index comes last: it says what became of the others.
 */
export async function makeReport(request: ReportRequest): Promise<Report> {
  const { options, redaction, roots, at, answerMs } = request;
  const { parts: found, missing: absent } = await collectReport(options, roots, answerMs);
  const missing = [...absent];
  const redactor = new Redactor(redaction, [hostname(), options.config.nodeName ?? '', ...findHostNames(roots)]);
  const parts = found.filter((part) => {
    try {
      redactor.learn(part);
      return true;
    } catch (error) {
      missing.push({ name: part.name, because: (error as Error).message });
      return false;
    }
  });
  let files = 0;
  const archive = await packArchive(
    nameOfReport(at),
    (function* () {
      for (const file of redactAll(parts, { redactor, missing, request })) {
        files += 1;
        yield file;
      }
    })(),
    at,
  );
  return { archive, files, missing };
}

/** The files one after another, so that only one is in memory; what can't be had all the same is added to `missing`. */
function* redactAll(
  parts: readonly Part[],
  {
    redactor,
    missing,
    request: { version, redaction, at },
  }: { readonly redactor: Redactor; readonly missing: Missing[]; readonly request: ReportRequest },
): Generator<ArchivedFile> {
  const listed: object[] = [];
  let room = MAX_BYTES;
  for (const part of parts) {
    const { name } = part;
    try {
      const { text, note } = redactor.apply(part);
      const bytes = Buffer.byteLength(text);
      if (bytes > Math.min(room, MAX_FILE_BYTES))
        throw new Error(`it has ${bytes} bytes, and the report would become too large`);
      room -= bytes;
      listed.push({ name, bytes, ...(note !== undefined && { note }) });
      yield { name, text };
    } catch (error) {
      missing.push({ name, because: (error as Error).message });
    }
  }
  const data = {
    report: 1,
    writtenBy: `cpusetd ${version}`,
    at,
    node: process.version,
    kernel: `${release()} ${machine()}`,
    redaction,
    files: listed,
    missing,
  };
  const name = 'index.json';
  yield { name, text: redactor.apply({ name, data }).text };
}
