import * as pb from '../../../gen/cpusetd/v1/cpusetd';
import type { AllocationStep } from '../../core/allocation';
import { parseCpuList } from '../../core/cpuset';
import type { Rules } from '../../core/model/assignment';
import type { RefusalSummary } from '../model/status';

export function encodeRules({ policy, chosenBy, options, reserved }: Rules): pb.Rules {
  return pb.Rules.create({
    policy,
    policyOptions: [...options],
    reserved: reserved.toString(),
    ...(chosenBy !== undefined && { chosenBy }),
  });
}

export function decodeRules({ policy, chosenBy, policyOptions, reserved }: pb.Rules): Rules {
  return { policy, ...(chosenBy && { chosenBy }), options: policyOptions, reserved: parseCpuList(reserved) };
}

export function encodeStep({ rule, took, because }: AllocationStep): pb.AllocationStep {
  return pb.AllocationStep.create({ rule, took: took.toString(), because });
}

export function decodeStep({ rule, took, because }: pb.AllocationStep): AllocationStep {
  return { rule, took: parseCpuList(took), because };
}

export function encodeQuota(quotaUs: number | undefined): bigint | undefined {
  return quotaUs === undefined ? undefined : BigInt(quotaUs);
}

export function decodeQuota(quotaUs: bigint | undefined): { quotaUs?: number } {
  return quotaUs === undefined ? {} : { quotaUs: Number(quotaUs) };
}

/** A time in RFC 3339. An unreadable or empty one is left out. */
export function encodeTime(time: string | undefined): Date | undefined {
  if (time === undefined) return undefined;
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

export function decodeTime(time: Date | undefined): string {
  return time?.toISOString() ?? '';
}

/** The key of the value; undefined for a value that this version does not know. */
export function keyOfValue<K extends string, V>(table: Readonly<Record<K, V>>, value: V | undefined): K | undefined {
  return (Object.keys(table) as K[]).find((key) => table[key] === value);
}

/** The request that was refused, by the word of the model. */
export const ASKED: Readonly<Record<RefusalSummary['asked'], pb.RefusedRequest>> = {
  unknown: pb.RefusedRequest.UNSPECIFIED,
  creation: pb.RefusedRequest.CREATION,
  change: pb.RefusedRequest.CHANGE,
  start: pb.RefusedRequest.START,
};
