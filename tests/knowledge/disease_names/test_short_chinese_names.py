"""What Chinese clinicians write in short is known: as the same name, and as the disease of the knowledge."""

from tests.tables import each_row

from polyclinic.knowledge.disease_names.relation import relation
from polyclinic.knowledge.knowledge import read_knowledge

SHORT = [
    ("新冠", "新型冠状病毒感染", "covid-19"),
    ("甲流", "甲型流感", "influenza-a"),
    ("乙流", "乙型流感", "influenza-b"),
    ("心梗", "急性心肌梗死", "myocardial-infarction"),
    ("脑梗", "缺血性脑卒中", "ischaemic-stroke"),
    ("房颤", "心房颤动", "atrial-fibrillation"),
    ("心衰", "心力衰竭", "heart-failure"),
    ("肺栓", "肺栓塞", "pulmonary-embolism"),
    ("甲亢", "甲状腺功能亢进症", "hyperthyroidism"),
    ("甲减", "甲状腺功能减退症", "hypothyroidism"),
    ("宫外孕", "异位妊娠", "ectopic-pregnancy"),
    ("慢支", "慢性支气管炎", "chronic-bronchitis"),
    ("支哮", "支气管哮喘", "bronchial-asthma"),
    ("毛支", "毛细支气管炎", "acute-bronchiolitis"),
    ("类风湿", "类风湿关节炎", "rheumatoid-arthritis"),
    ("带疱", "带状疱疹", "herpes-zoster"),
    ("化脑", "细菌性脑膜炎", "bacterial-meningitis"),
    ("化扁", "急性化脓性扁桃体炎", "acute-tonsillitis"),
    ("蛛血", "蛛网膜下腔出血", "subarachnoid-haemorrhage"),
    ("糖酮", "糖尿病酮症酸中毒", "diabetic-ketoacidosis"),
    ("缺铁贫", "缺铁性贫血", "iron-deficiency-anaemia"),
    ("急胰", "急性胰腺炎", "acute-pancreatitis"),
    ("急阑", "急性阑尾炎", "acute-appendicitis"),
    ("肠套", "肠套叠", "intussusception"),
    ("手足口", "手足口病", "hand-foot-and-mouth-disease"),
    ("传单", "传染性单核细胞增多症", "infectious-mononucleosis"),
    ("主夹", "主动脉夹层", "aortic-dissection"),
    ("网脱", "视网膜脱离", "retinal-detachment"),
    ("急性闭青", "急性闭角型青光眼", "acute-angle-closure-glaucoma"),
    ("膝骨关", "膝骨关节炎", "knee-osteoarthritis"),
    ("广焦", "广泛性焦虑障碍", "generalized-anxiety-disorder"),
]
OF_OTHERS = [
    ("慢阻肺", "慢性阻塞性肺疾病"),
    ("慢肾衰", "慢性肾衰竭"),
    ("格林巴利", "吉兰-巴雷综合征"),
    ("强脊", "强直性脊柱炎"),
    ("巨幼贫", "巨幼细胞性贫血"),
    ("冠心病", "冠状动脉粥样硬化性心脏病"),
]


@each_row(["short", "name", "disease"], SHORT)
def test_a_short_name_means_the_disease(short, name, disease):
    # An abbreviation may leave out that a disease is acute, or who has it.
    assert relation(short, name) in ("same", "broader") and relation(short, "痛风") == "different"
    assert read_knowledge().disease_named(short).id == disease


@each_row(["short", "name"], OF_OTHERS)
def test_a_short_name_of_another_disease_is_the_same_name(short, name):
    assert relation(short, name) == "same"
