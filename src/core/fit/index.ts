export { CPU, largerUse, NO_ZONE_AMOUNTS, sumUse, type Amounts, type ZoneAmounts } from './amounts';
export { type Strategy, type ZoneGrant } from './choose-zones';
export { fitPod, fitPodInto, fitsInto, type Fit } from './fit-pod';
export { freeRoomOf, type FreeRoom, type NodeOffer, type OfferedZone, type ZoneRoom } from './node-offer';
export { isStrict, looksAtNames, PLAIN_RULES, rulesOfNode, type NodeRules } from './node-rules';
export { describeObstacle, messageOf, type Obstacle } from './obstacle';
export { needsOf, type ContainerNeed } from './pod-needs';
export type { PodToPlace } from './pod-to-place';
export { cpusOfTopologyResult, useOf, type Announcement } from './pod-use';
