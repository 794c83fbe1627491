import { JsonBound, parseBoundedJson } from '../../../core/bounded-json';
import { asArray, asObject, asString, type JsonObject } from '../../../kube';

/** One series of an instant vector. */
export interface Series {
  /** Its label `instance`; empty when it has none. */
  readonly instance: string;
  /** Its label `job`; empty when it has none. */
  readonly job: string;
  readonly timeMs: number;
  /** A number as Prometheus writes it: `0.3`, `1e-05`, `NaN`, `+Inf`. */
  readonly value: string;
}

export type QueryResult =
  | { readonly ok: true; readonly series: readonly Series[] }
  /** For the operator; goes on "Prometheus …". */
  | { readonly ok: false; readonly because: string };

const MAX_QUOTED = 300;

/**
 * Reads the answer of an instant query (Prometheus' HTTP API v1). A warning is a failure, as for crane-scheduler: the
 * result may be incomplete then. Notes (`infos`) are none.
 */
export function parseAnswer(status: number, text: string): QueryResult {
  const answer = parseJson(text);
  if (answer instanceof JsonBound) return fail(`answered with JSON that ${answer.message}`);
  if (status !== 200 || answer['status'] !== 'success') {
    const error = asString(answer['error']).slice(0, MAX_QUOTED);
    const detail = error === '' ? '' : `: ${error}`;
    if (status !== 200) return fail(`answered with status ${status}${detail}`);
    return fail(
      answer['status'] === 'error' ? `could not answer${detail}` : 'answered with something that is no result',
    );
  }
  const warnings = asArray(answer['warnings']);
  if (warnings.length > 0) return fail(`warned: ${warnings.map(String).join('; ').slice(0, MAX_QUOTED)}`);
  const { resultType, result } = asObject(answer['data']);
  if (resultType !== 'vector') return fail(`answered with a ${asString(resultType) || 'result'} and not with a vector`);
  return { ok: true, series: asArray(result).map(toSeries) };
}

function toSeries(entry: unknown): Series {
  const { metric, value } = asObject(entry);
  const { instance, job } = asObject(metric);
  const [seconds, text] = asArray(value); // a histogram has no value
  return {
    instance: asString(instance),
    job: asString(job),
    timeMs: typeof seconds === 'number' ? Math.round(seconds * 1000) : NaN,
    value: asString(text),
  };
}

function fail(because: string): QueryResult {
  return { ok: false, because };
}

/** An empty object for what is no JSON. */
function parseJson(text: string): JsonObject | JsonBound {
  try {
    return asObject(parseBoundedJson(text));
  } catch (error) {
    return error instanceof JsonBound ? error : {};
  }
}
