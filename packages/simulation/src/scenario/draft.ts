import type { Action, NodePlan } from './actions.ts';
import type { Dice } from './dice.ts';

/** A scenario under construction, shared by all functions that draw a part of it. */
export class Draft {
  readonly dice: Dice;
  readonly node: NodePlan;
  readonly actions: Action[] = [];
  #uids = 0;

  constructor(dice: Dice, node: NodePlan) {
    this.dice = dice;
    this.node = node;
  }

  /** Returns a number that no pod has yet. */
  newNumber(): number {
    return ++this.#uids;
  }

  do(action: Action): void {
    this.actions.push(action);
  }
}
