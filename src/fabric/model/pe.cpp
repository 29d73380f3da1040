// SPDX-License-Identifier: Apache-2.0
// Loading a class's task tables; stepping a memory operand.
#include "fabric/model/pe.h"

namespace szarena::fabric {

LoadedClass::LoadedClass(const bytecode::CodeClass& c)
    : code(&c), image(std::make_unique<ClassImage>(c)) {
  data_task.fill(-1);
  local_task.fill(-1);
  control_task.fill(-1);
  for (size_t i = 0; i < c.tasks.size(); ++i) {
    const bytecode::TaskBinding& t = c.tasks[i];
    auto& table = t.kind == bytecode::TaskKind::kData    ? data_task
                  : t.kind == bytecode::TaskKind::kLocal ? local_task
                                                         : control_task;
    table[t.id] = static_cast<int32_t>(i);
    if (t.high_priority) high_priority |= uint64_t{1} << t.id;
  }
}

void OperandState::Advance() {
  if (d.kind == bytecode::DsdKind::kCircbuf) {
    ++index[0];
    if (index[0] == d.wrap) {
      index[0] = 0;
      offset = 0;
    } else {
      offset += d.stride[0];
    }
    return;
  }
  for (size_t k = d.rank; k-- > 0;) {
    offset += d.stride[k];
    if (++index[k] < d.extent[k] || (k == 0 && d.extent[0] == bytecode::kInfiniteExtent)) return;
    if (k == 0) return;  // stays behind the last element: save_address goes on from here
    offset -= d.stride[k] * d.extent[k];
    index[k] = 0;
  }
}

}  // namespace szarena::fabric
