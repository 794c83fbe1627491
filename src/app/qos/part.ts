import type { CallOptions, CriClient } from '../../cri/client';
import type { DaemonContext } from '../context';
import type { Part } from '../lifecycle/part';
import { isOwed, OWED } from '../owed-effects/owed';
import type { QosPartParts } from './open-qos';

export interface QosNeeds {
  readonly context: DaemonContext;
  /** The runtime over CRI. Rejects with a CpusetdError. */
  readonly client: { ask<T>(question: (cri: CriClient, options: CallOptions) => Promise<T>): Promise<T> };
  readonly status: QosPartParts['status'];
}

/** Measures the node, follows QoS rules, lends; without the options it undoes what a killed process has done. */
export const qosPart: Part<QosNeeds> = {
  name: 'qos',
  isWanted: ({ collectIntervalMs, stateDir }) =>
    collectIntervalMs !== undefined || isOwed(stateDir, OWED.qosActions) || isOwed(stateDir, OWED.lentResources),
  open: async ({ context, client, status }) => {
    const { QosPart } = await import('./open-qos');
    return new QosPart({
      context,
      update: (change) => client.ask((cri, options) => cri.updateContainer(change, options)),
      status,
    });
  },
};
