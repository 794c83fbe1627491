import { CPU, type NodeOffer } from '../../core/fit';
import { sum } from '../../core/sum';
import { asObject } from '../json';
import { readClaims, type Claim } from './claims';
import { parseSummary, SUMMARY_ATTRIBUTE, type NodeSummary } from './node-summary';
import { readCommunityObject, readCraneObject, type ReadTopology } from './read-offer';

/** All that a NodeResourceTopology says of a node: what decides, and what people look at. */
export interface PublishedTopology {
  readonly zones: readonly PublishedZone[];
  /** All that decides whether a pod fits. */
  readonly offer: NodeOffer;
  /** The same with what is free now, where no pods are counted. */
  readonly now: NodeOffer;
  /** The zones of pods that extenders are binding to the node, by uid. */
  readonly claims: ReadonlyMap<string, Claim>;
  /** Absent for an object of another publisher, or of an older cpusetd. */
  readonly summary?: NodeSummary;
}

/** In whole CPUs. */
export interface PublishedZone {
  readonly name: string;
  readonly capacity: number;
  readonly allocatable: number;
  readonly available: number;
}

/** Reads a NodeResourceTopology of the community's kind. Fields of another type count as missing. */
export function readCommunityTopology(object: unknown): PublishedTopology {
  const read = readCommunityObject(object);
  const { offer } = read;
  const zones = zonesOf(read, offer.zones.map(({ allocatable }) => toCpus(allocatable.get(CPU) ?? 0))); // prettier-ignore
  return { zones, offer, now: offer, claims: new Map(), ...summaryOf(read) };
}

/** Reads one of Crane's kind. What is free there stands in the summary alone. */
export function readCraneTopology(object: unknown): PublishedTopology {
  const read = readCraneObject(object);
  const found = summaryOf(read);
  const zones = zonesOf(read, read.zones.map(({ position }) => found.summary?.available[position] ?? 0)); // prettier-ignore
  const claims = readClaims(asObject(asObject(asObject(object)['metadata'])['annotations']));
  return { zones, offer: read.offer, now: offerNow(read.offer, zones), claims, ...found };
}

function zonesOf({ zones }: ReadTopology, available: readonly number[]): readonly PublishedZone[] {
  return zones.map(({ offered: { name, capacityCpu }, allocatableCpu }, i) => {
    return { name, capacity: toCpus(capacityCpu), allocatable: toCpus(allocatableCpu), available: available[i]! };
  });
}

function offerNow(offer: NodeOffer, zones: readonly PublishedZone[]): NodeOffer {
  const rooms = zones.map(({ available }) => ({ cpu: 1_000 * available, whole: 1_000 * available }));
  return {
    ...offer,
    zones: offer.zones.map((zone, i) => ({ ...zone, room: rooms[i]! })),
    bound: sum(rooms.map(({ cpu }) => cpu)),
  };
}

function summaryOf({ attributes }: ReadTopology): { readonly summary?: NodeSummary } {
  const text = attributes.get(SUMMARY_ATTRIBUTE);
  const summary = text === undefined ? undefined : parseSummary(text);
  return summary ? { summary } : {};
}

function toCpus(milliCpu: number): number {
  return Math.floor(milliCpu / 1_000);
}
